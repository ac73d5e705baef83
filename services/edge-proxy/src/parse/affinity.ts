import type { EndpointRow } from '../formats/endpoints.js';
import type { Member, Span } from '../json/json-scanner.js';
import { QUOTE, JsonText } from '../json/json-text.js';

/** Bytes of a cache key or prompt, from its beginning, by which calls are kept together. */
export const AFFINITY_BYTES_MAX = 1_024;

/**
 * What calls that shall meet at one source have in common, as 64 bits: two 32-bit integers. Those
 * of different accounts or prompts differ, but for chance.
 */
export interface AffinityKey {
  readonly high: number;
  readonly low: number;
}

/** By what calls of one account are kept at one source, as the body shows it. */
export interface BodyAffinity {
  /** A session header comes after `prompt_cache_key` and before the others. */
  readonly kind: 'cache_key' | 'user' | 'prompt';
  /** At most {@link AFFINITY_BYTES_MAX} bytes together, as they were sent: nothing is decoded. */
  readonly spans: readonly Span[];
}

/** Members that providers put in front of the prompt. */
const BEFORE_PROMPT = ['system', 'instructions'];

/**
 * Finds the bytes by which a call is kept with others of its account
 * (docs/behaviour.md#source-order): those of `prompt_cache_key`, else on messages endpoints of
 * `metadata.user_id`, else those with which the prompt begins.
 */
export function bodyAffinity(row: EndpointRow, body: Buffer, members: readonly Member[]): BodyAffinity {
  const cacheKey = members.find(({ name }) => name === 'prompt_cache_key');
  if (cacheKey !== undefined && isText(body, cacheKey)) return { kind: 'cache_key', spans: [beginningOf(cacheKey)] };
  const user = row.style === 'messages' ? userOf(body, members) : null;
  if (user !== null) return { kind: 'user', spans: [beginningOf(user)] };
  const spans: Span[] = [];
  let left = AFFINITY_BYTES_MAX;
  for (const name of [...BEFORE_PROMPT, row.prompt.name]) {
    const member = members.find((each) => each.name === name);
    if (member !== undefined) left = addStable(spans, body, member, left);
  }
  return { kind: 'prompt', spans };
}

/** A string that is not empty. */
function isText(body: Buffer, { start, end }: Span): boolean {
  return body[start] === QUOTE && end - start > EMPTY_TEXT_BYTES;
}

function beginningOf({ start, end }: Span): Span {
  return { start, end: Math.min(end, start + AFFINITY_BYTES_MAX) };
}

function userOf(body: Buffer, members: readonly Member[]): Span | null {
  const metadata = members.find(({ name, kind }) => name === 'metadata' && kind === 'object');
  if (metadata === undefined) return null;
  const text = new JsonText(body);
  let user: Span | null = null;
  text.eachMember(metadata.start, (nameStart, nameEnd, start) => {
    const end = text.valueEnd(start);
    const isUser = nameEnd - nameStart < NAME_BYTES_MAX && text.text(nameStart, nameEnd) === 'user_id';
    if (isUser && isText(body, { start, end })) user = { start, end };
    return end;
  });
  return user;
}

/**
 * Adds the first `left` bytes of a member without the texts that change with each request. Returns
 * how many bytes are left.
 */
function addStable(spans: Span[], body: Buffer, { start: first, end: last }: Span, left: number): number {
  let start = first;
  while (left > 0 && start >= first && start < last) {
    const end = Math.min(last, start + left);
    const found = body.subarray(start, end).indexOf(CHANGING_TEXT);
    const stableEnd = found < 0 ? end : start + found;
    if (stableEnd > start) spans.push({ start, end: stableEnd });
    left -= stableEnd - start;
    if (found < 0) break;
    start = new JsonText(body).valueEnd(stableEnd);
  }
  return left;
}

/** How Claude Code begins a system block of its own, which has another checksum in each request. */
const CHANGING_TEXT = Buffer.from('"x-anthropic-billing-header:');
const EMPTY_TEXT_BYTES = 2;
const NAME_BYTES_MAX = 64;

/**
 * Headers in which clients name their session: Claude Code; Codex, today's and earlier releases;
 * OpenCode; others. The first that is well formed counts.
 */
const SESSION_HEADERS = [
  'x-claude-code-session-id',
  'session-id',
  'session_id',
  'thread-id',
  'x-session-id',
  'x-session-affinity',
] as const;
const SESSION = /^[A-Za-z0-9._:@/-]{1,128}$/;

/** The session of a client by its headers (name, value, name, value); null: it names none. */
export function sessionIn(rawHeaders: readonly string[]): string | null {
  for (const name of SESSION_HEADERS) {
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
      const sent = rawHeaders[at] as string;
      if (sent.length !== name.length || sent.toLowerCase() !== name) continue;
      const value = rawHeaders[at + 1] as string;
      if (SESSION.test(value)) return value;
    }
  }
  return null;
}

/** Multipliers and first values: odd numbers with bits all over. */
const FACTOR_HIGH = 0x9e3779b1;
const FACTOR_LOW = 0x85ebca77;
const FIRST_HIGH = 0x243f6a88;
const FIRST_LOW = 0x13198a2e;

/**
 * One pass over the account and these bytes, 1.5 µs for 1 KB. It spreads keys evenly, and keeps
 * nothing secret.
 */
export function affinityKey(account: string, body: Uint8Array, spans: readonly Span[]): AffinityKey {
  let high = FIRST_HIGH;
  let low = FIRST_LOW;
  for (let at = 0; at < account.length; at += 1) {
    const code = account.charCodeAt(at);
    high = Math.imul(high ^ code, FACTOR_HIGH);
    low = Math.imul(low ^ code, FACTOR_LOW);
    low ^= high >>> 15;
  }
  for (const { start, end } of spans) {
    // No byte has this value: what ends here cannot go on there.
    high = Math.imul(high ^ 0x100, FACTOR_HIGH);
    for (let at = start; at < end; at += 1) {
      const byte = body[at] as number;
      high = Math.imul(high ^ byte, FACTOR_HIGH);
      low = Math.imul(low ^ byte, FACTOR_LOW);
      low ^= high >>> 15;
    }
  }
  return { high: mixed(high ^ (low >>> 7)), low: mixed(low ^ high) };
}

/**
 * A number between 0 and 1, neither of them, that a key and a source always give again. Over many
 * keys the numbers of a source are uniform, and independent of those of any other source.
 */
export function affinityDraw({ high, low }: AffinityKey, source: string): number {
  let name = FIRST_HIGH;
  for (let at = 0; at < source.length; at += 1) name = Math.imul(name ^ source.charCodeAt(at), FACTOR_LOW);
  const one = mixed(high ^ mixed(name));
  const other = mixed(low ^ one ^ Math.imul(name, FACTOR_HIGH));
  // 52 bits: every sum is exact, so that none is rounded to 1.
  return ((other >>> 0) * 2 ** 20 + (mixed(one ^ other) >>> 12) + 0.5) / 2 ** 52;
}

/** Each bit of a 32-bit integer changes about half of the result's. */
function mixed(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), FACTOR_HIGH);
  bits = Math.imul(bits ^ (bits >>> 13), FACTOR_LOW);
  return bits ^ (bits >>> 16);
}
