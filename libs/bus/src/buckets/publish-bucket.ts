import { headers } from 'nats';
import { BusFault } from '../bus-fault.js';
import type { Bus, BucketHead } from '../bus.js';
import {
  applyMessage,
  bucketConfiguration,
  bucketStream,
  bucketSubjects,
  emptyContent,
  ENTRIES_MAX,
  ENTRY_BYTES_MAX,
  entrySubject,
  hashEntries,
  headSubject,
  parseHead,
  type BucketContent,
} from './bucket.js';
import type { Link } from '../connection.js';
import { parseDeliveryInfo } from '../streams/delivery.js';
import { API_TIMEOUT_MS } from '../streams/jetstream.js';
import { loadLast } from './load-last.js';
import type { ReplyInbox } from '../requests/reply-inbox.js';
import { storeBytes } from '../streams/store.js';
import { ensureConfiguration } from '../streams/streams.js';

const BOUNDS = { bytesMax: 256 * 1024 * 1024, ageMaxMs: 0, discard: 'new' } as const;
/** Concurrent writes without an acknowledgement. */
const WRITES_AT_ONCE = 64;
const NO_DATA = new Uint8Array(0);

/** The writing side of KV buckets. */
export function createBucketPublisher(
  link: Link,
  inbox: ReplyInbox,
  replicas: number,
): Pick<Bus, 'publishBucket' | 'bucketHead'> {
  const publishing = new Map<string, Promise<void>>();
  return {
    publishBucket: (bucket, entries, revision) => {
      // Runs publications of a bucket one after another. Otherwise one could write its head between
      // the entries of another.
      const before = publishing.get(bucket) ?? Promise.resolve();
      const published = before
        .catch(() => undefined)
        .then(() => writeBucket(link, inbox, bucket, entries, revision, replicas));
      publishing.set(bucket, published);
      return published;
    },
    bucketHead: (bucket) => readHead(link, inbox, bucket),
  };
}

async function writeBucket(
  link: Link,
  inbox: ReplyInbox,
  bucket: string,
  entries: ReadonlyMap<string, string>,
  revision: number,
  replicas: number,
): Promise<void> {
  assertEntries(bucket, entries);
  await ensureConfiguration(inbox, bucketConfiguration(bucket, { ...BOUNDS, replicas }));
  const present = await readContent(link, inbox, bucket);
  const head: BucketHead = { revision, count: entries.size, hash: hashEntries(entries) };
  if (present.head !== null && present.head.revision > revision) {
    throw new BusFault('conflict', `${bucket}: revision ${present.head.revision} is newer than ${revision}`);
  }

  const changed = [...entries].filter(([key, value]) => present.entries.get(key) !== value);
  const gone = [...present.entries.keys()].filter((key) => !entries.has(key));
  await inGroups(changed, ([key, value]) => write(inbox, entrySubject(bucket, key), Buffer.from(value, 'utf8')));
  await inGroups(gone, (key) => write(inbox, entrySubject(bucket, key), NO_DATA, { 'KV-Operation': 'DEL' }));
  if (changed.length === 0 && gone.length === 0 && sameHead(present.head, head)) return;
  // Rejects with `conflict` if another process has written its head since the read.
  await write(inbox, headSubject(bucket), Buffer.from(JSON.stringify(head)), {
    'Nats-Expected-Last-Subject-Sequence': String(present.headSequence),
  });
}

async function readContent(link: Link, inbox: ReplyInbox, bucket: string): Promise<BucketContent> {
  const content = emptyContent();
  for (const message of await loadLast(link, inbox, bucketStream(bucket), bucketSubjects(bucket))) {
    applyMessage(content, bucket, message, parseDeliveryInfo(message).sequence);
  }
  return content;
}

async function write(inbox: ReplyInbox, subject: string, data: Uint8Array, named: Record<string, string> = {}) {
  const sent = headers();
  for (const [name, value] of Object.entries(named)) sent.set(name, value);
  await storeBytes(inbox, subject, data, API_TIMEOUT_MS, Object.keys(named).length > 0 ? sent : undefined);
}

async function inGroups<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  for (let from = 0; from < items.length; from += WRITES_AT_ONCE) {
    await Promise.all(items.slice(from, from + WRITES_AT_ONCE).map(act));
  }
}

/**
 * Reads like a mirror: NATS 2.9 crashes on a request for a single message of a stream that is being
 * created.
 */
async function readHead(link: Link, inbox: ReplyInbox, bucket: string): Promise<BucketHead | null> {
  try {
    const [message] = await loadLast(link, inbox, bucketStream(bucket), headSubject(bucket));
    return message === undefined ? null : parseHead(Buffer.from(message.data));
  } catch (error) {
    if (error instanceof BusFault && error.code === 'stream_missing') return null;
    throw error;
  }
}

function assertEntries(bucket: string, entries: ReadonlyMap<string, string>): void {
  if (entries.size > ENTRIES_MAX) throw new BusFault('too_large', `${bucket}: more than ${ENTRIES_MAX} entries`);
  for (const [key, value] of entries) {
    const bytes = Buffer.byteLength(value, 'utf8');
    if (bytes > ENTRY_BYTES_MAX) {
      throw new BusFault('too_large', `${bucket}: entry ${key} has ${bytes} bytes, more than ${ENTRY_BYTES_MAX}`);
    }
  }
}

function sameHead(one: BucketHead | null, other: BucketHead): boolean {
  return one?.revision === other.revision && one.count === other.count && one.hash === other.hash;
}
