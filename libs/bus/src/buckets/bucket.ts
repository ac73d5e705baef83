import { createHash } from 'node:crypto';
import type { Msg } from 'nats';
import { BusFault } from '../bus-fault.js';
import type { BucketHead } from '../bus.js';
import { NANOSECONDS_PER_MS } from '../streams/jetstream.js';

/** Largest entry of a bucket, in bytes. */
export const ENTRY_BYTES_MAX = 64 * 1024;
export const ENTRIES_MAX = 20_000;
const KEY_CHARS_MAX = 256;
const REMOVED = new Set(['DEL', 'PURGE']);

export function bucketStream(bucket: string): string {
  return `KV_${bucket}`;
}

export function headSubject(bucket: string): string {
  return `$KV.${bucket}.head`;
}

export function bucketSubjects(bucket: string): string {
  return `$KV.${bucket}.>`;
}

function entryPrefix(bucket: string): string {
  return `$KV.${bucket}.entry.`;
}

/**
 * Writes characters that a KV key cannot have as `=` and their bytes in hexadecimal. Throws
 * `too_large`.
 */
export function entrySubject(bucket: string, key: string): string {
  if (key.length === 0 || key.length > KEY_CHARS_MAX) {
    throw new BusFault('too_large', `a bucket key has 1 to ${KEY_CHARS_MAX} characters`);
  }
  const encoded = key.replace(/[^A-Za-z0-9_/-]/gu, (character) =>
    [...Buffer.from(character, 'utf8')].map((byte) => `=${byte.toString(16).padStart(2, '0')}`).join(''),
  );
  return entryPrefix(bucket) + encoded;
}

function parseEntryKey(bucket: string, subject: string): string | undefined {
  const prefix = entryPrefix(bucket);
  if (!subject.startsWith(prefix)) return undefined;
  const encoded = subject.slice(prefix.length);
  try {
    return decodeURIComponent(encoded.replaceAll('=', '%'));
  } catch {
    return undefined;
  }
}

/**
 * Returns the subject for reading one entry. Any server with a copy of the bucket replies, so a
 * reply may miss an entry that was written just before.
 */
export function directGetSubject(bucket: string, subject: string): string {
  return `$JS.API.DIRECT.GET.${bucketStream(bucket)}.${subject}`;
}

/** Computes the hash for the head, over all entries sorted by key. */
export function hashEntries(entries: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256');
  for (const key of [...entries.keys()].sort()) {
    const value = entries.get(key) ?? '';
    hash.update(`${key.length}:${value.length}:${key}${value}`);
  }
  return hash.digest('hex');
}

/** Returns the stream configuration of a NATS KV bucket with history 1. */
export function bucketConfiguration(
  bucket: string,
  { bytesMax, entriesMax = -1, ageMaxMs, discard, replicas }: BucketBounds,
): { name: string } & Record<string, unknown> {
  return {
    name: bucketStream(bucket),
    subjects: [bucketSubjects(bucket)],
    storage: 'file',
    retention: 'limits',
    discard,
    max_bytes: bytesMax,
    max_msgs: entriesMax,
    max_msg_size: -1,
    max_consumers: -1,
    max_age: ageMaxMs * NANOSECONDS_PER_MS,
    max_msgs_per_subject: 1,
    num_replicas: replicas,
    allow_rollup_hdrs: true,
    deny_delete: true,
    deny_purge: false,
    allow_direct: true,
  };
}

interface BucketBounds {
  readonly bytesMax: number;
  readonly entriesMax?: number | undefined;
  /** 0 keeps entries indefinitely. */
  readonly ageMaxMs: number;
  /** A full bucket refuses new entries (`new`) or drops its oldest (`old`). */
  readonly discard: 'new' | 'old';
  readonly replicas: number;
}

/** The content of a bucket, built from its messages. */
export interface BucketContent {
  entries: Map<string, string>;
  head: BucketHead | null;
  /** Position of the head in the stream, 0 without a head. */
  headSequence: number;
}

export function emptyContent(): BucketContent {
  return { entries: new Map(), head: null, headSequence: 0 };
}

/** Applies one message of a bucket. Returns whether it was the head. Ignores malformed messages. */
export function applyMessage(content: BucketContent, bucket: string, message: Msg, sequence: number): boolean {
  const removed = REMOVED.has(message.headers?.get('KV-Operation') ?? '');
  if (message.subject === headSubject(bucket)) {
    content.head = removed ? null : parseHead(message.data);
    content.headSequence = sequence;
    return true;
  }
  const key = parseEntryKey(bucket, message.subject);
  if (key === undefined) return false;
  if (removed) content.entries.delete(key);
  else content.entries.set(key, Buffer.from(message.data).toString('utf8'));
  return false;
}

/** Reports whether the head covers exactly these entries. */
export function isComplete(content: BucketContent): content is BucketContent & { head: BucketHead } {
  const { head, entries } = content;
  return head !== null && head.count === entries.size && head.hash === hashEntries(entries);
}

export function parseHead(data: Uint8Array): BucketHead | null {
  try {
    const { revision, count, hash } = JSON.parse(Buffer.from(data).toString('utf8')) as Partial<BucketHead>;
    if (!Number.isSafeInteger(revision) || !Number.isSafeInteger(count) || typeof hash !== 'string') return null;
    return { revision: Number(revision), count: Number(count), hash };
  } catch {
    return null;
  }
}
