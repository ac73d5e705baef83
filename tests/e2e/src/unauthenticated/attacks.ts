import { randomBytes } from 'node:crypto';
import { makeSecret, SECRET_BODY_CHARS } from '@gateway/contracts/ids';

/** Facts that an attacker may know: ports of 127.0.0.1, and all that a new customer can see. */
export interface AttackTarget {
  readonly edgePort: number;
  readonly pagesPort: number;
  readonly operatorPort: number;
  readonly largeFile: string;
  /** A key of the attacker's account, and models that it may use. */
  readonly secret: string;
  readonly modelId: string;
  /** Its responses exceed all buffers on the path. */
  readonly largeModelId: string;
  /** Its provider refuses each request with an error that is expensive to redact. */
  readonly refusingModelId: string;
}

/** Concurrent connections with the same behaviour. One that is closed is opened again. */
export interface AttackGroup {
  readonly port: number;
  readonly connections: number;
  /** Delay after the start of the attack; default: none. */
  readonly afterMs?: number;
  readonly first?: string;
  /** Bytes to send at each interval if the earlier ones were sent, until `bytesMax` were sent. */
  readonly then?: { readonly bytes: Buffer; readonly everyMs: number; readonly bytesMax: number };
  readonly reads?: false;
  /**
   * Requests of one connection, each after a response and a minimum interval. Absent: a response
   * closes the connection.
   */
  readonly repeat?: { readonly everyMs: number; readonly request: (n: number) => string };
}

export const CHAT = '/v1/chat/completions';
const KIB = 1024;
const SIGN_IN = '/api/sign-in';
const KEY_PREFIX = 'mgw_live_';
const CHECKSUM_BYTES = 4;
const TOKEN_BYTES = 24;
/** More connections than the listeners accept. */
const IDLE = { edge: 16_600, pages: 700 };
/** Requests per connection: their responses exceed the buffers of both sides. */
const FILES_EACH = 30;
/** The most that the edge reads at once with an unknown key. */
const UNKNOWN_KEY_BYTES = 256 * KIB;
const SLOW_BYTES = 4 * KIB;
/**
 * Uploads of the largest allowed body: as many as would fit into the 512 MiB of an edge without
 * per-account shares. Smaller uploads fill the remaining memory. Each size starts after the
 * previous one has arrived. The last size is smaller than a valid request.
 */
const UPLOADS = [
  { bytes: 10 * KIB * KIB, connections: 51 },
  { bytes: 64 * KIB, connections: 34, afterMs: 3_000 },
  { bytes: 4 * KIB, connections: 20, afterMs: 4_000 },
  { bytes: 256, connections: 40, afterMs: 5_000 },
  { bytes: 64, connections: 40, afterMs: 6_000 },
];

/** About the longest message of a provider that the gateway processes. */
const MESSAGE_SPACES = 3_980;
/** A long run of spaces after a word that the redaction of error messages searches for. */
export const EXPENSIVE_TEXT = `organization${' '.repeat(MESSAGE_SPACES)}!`;

const bearer = (secret: string): string => `authorization: Bearer ${secret}`;
const get = (path: string, ...headers: readonly string[]): string =>
  [`GET ${path} HTTP/1.1`, 'host: gateway', ...headers, '', ''].join('\r\n');
/** Returns the head of a POST with JSON. `more` contains header lines. */
const postHead = (path: string, ...more: readonly string[]): string =>
  [`POST ${path} HTTP/1.1`, 'host: gateway', 'content-type: application/json', ...more, '', ''].join('\r\n');
const post = (path: string, body: object, ...more: readonly string[]): string => {
  const text = JSON.stringify(body);
  return postHead(path, ...more, `content-length: ${text.length}`) + text;
};
const call = (secret: string, model: string, content = 'Hello.'): string =>
  post(CHAT, { model, messages: [{ role: 'user', content }] }, bearer(secret));

/** Sends up to 150,000 chunks of one byte, 2,000 at each interval. */
function chunks(port: number, path: string, ...more: readonly string[]): AttackGroup {
  const chunk = '1\r\n \r\n';
  const then = { bytes: Buffer.from(chunk.repeat(2_000)), everyMs: 100, bytesMax: chunk.length * 150_000 };
  return { port, connections: 6, first: postHead(path, 'transfer-encoding: chunked', ...more), then };
}

/** Attacks by unauthenticated clients, or with a key of the attacker. */
export const ATTACKS = {
  /** Request heads that never end: one more header each second. */
  'slow-heads': ({ edgePort, pagesPort }) => {
    const first = 'GET / HTTP/1.1\r\nhost: gateway\r\n';
    const then = { bytes: Buffer.from('x-more: 1\r\n'), everyMs: 1_000, bytesMax: 2_000 };
    return [
      { port: pagesPort, connections: 1_000, first, then },
      { port: edgePort, connections: 2_000, first, then },
    ];
  },
  /**
   * Bodies that arrive in a few bytes per second. Those for the edge have an unknown key, and most
   * of the body arrives immediately.
   */
  'slow-bodies': ({ edgePort, pagesPort }) => {
    const pages = postHead(SIGN_IN, `content-length: ${SLOW_BYTES}`);
    const edge = postHead(CHAT, `content-length: ${UNKNOWN_KEY_BYTES}`, bearer(makeSecret(KEY_PREFIX)));
    const first = edge + ' '.repeat(UNKNOWN_KEY_BYTES - SLOW_BYTES);
    const then = { bytes: Buffer.from('    '), everyMs: 1_000, bytesMax: SLOW_BYTES - 1 };
    return [
      { port: pagesPort, connections: 500, first: pages, then },
      { port: edgePort, connections: 2_500, first, then },
    ];
  },
  /**
   * Responses that the client does not read: the largest file of the pages many times on each
   * connection, and long model responses.
   */
  'slow-reads': ({ edgePort, pagesPort, largeFile, secret, largeModelId }) => [
    { port: pagesPort, connections: 600, first: get(largeFile).repeat(FILES_EACH), reads: false },
    { port: edgePort, connections: 64, first: call(secret, largeModelId), reads: false },
  ],
  /** Bodies of one-byte chunks: to the pages without a session, to the edge with an unknown key. */
  'chunks-without-key': ({ edgePort, pagesPort }) => [
    chunks(pagesPort, SIGN_IN),
    chunks(edgePort, CHAT, bearer(makeSecret(KEY_PREFIX))),
  ],
  'chunks-with-key': ({ edgePort, secret }) => [chunks(edgePort, CHAT, bearer(secret))],
  /**
   * POSTs that announce a body and send none: to the pages without a session, and to the edge with
   * the attacker's key.
   */
  'silent-posts': ({ edgePort, pagesPort, secret }) => [
    { port: pagesPort, connections: 400, first: postHead(SIGN_IN, 'content-length: 50') },
    { port: edgePort, connections: 400, first: postHead(CHAT, bearer(secret), 'content-length: 50') },
  ],
  'idle-connections': ({ edgePort, pagesPort }) => [
    { port: pagesPort, connections: IDLE.pages },
    { port: edgePort, connections: IDLE.edge },
  ],
  /** Unknown keys, each one different. Every other key has a valid checksum. */
  'unknown-keys': ({ edgePort: port, modelId }) => {
    const unchecked = (): string => KEY_PREFIX + randomBytes(SECRET_BODY_CHARS / 2 + CHECKSUM_BYTES).toString('hex');
    const request = (n: number): string => call(n % 2 === 0 ? makeSecret(KEY_PREFIX) : unchecked(), modelId);
    return [{ port, connections: 600, repeat: { everyMs: 500, request } }];
  },
  /**
   * Unknown operator tokens, each one different: at the operator API, at the API of the pages, and
   * at the pages' sign-in.
   */
  'wrong-operator-tokens': ({ pagesPort, operatorPort }) => {
    const token = (): string => `mgw_op_${randomBytes(TOKEN_BYTES).toString('hex')}`;
    const list = (path: string): string => get(`${path}/operator/v1/accounts?limit=1`, bearer(token()));
    const group = (port: number, request: () => string) => ({
      port,
      connections: 100,
      repeat: { everyMs: 50, request },
    });
    return [
      group(operatorPort, () => list('')),
      group(pagesPort, () => list('/api')),
      group(pagesPort, () => post('/api/operator/sign-in', { token: token() })),
    ];
  },
  /** Uploads with the attacker's key: all bytes except the last one immediately, then nothing. */
  'stalled-uploads': ({ edgePort: port, secret }) =>
    UPLOADS.map(({ bytes, ...group }) => ({
      ...group,
      port,
      first: postHead(CHAT, bearer(secret), `content-length: ${bytes}`),
      then: { bytes: Buffer.alloc(Math.min(KIB * KIB, bytes), ' '), everyMs: 0, bytesMax: bytes - 1 },
    })),
  /** Requests whose text the provider repeats in its error. */
  'expensive-errors': ({ edgePort: port, secret, refusingModelId }) => [
    { port, connections: 40, repeat: { everyMs: 100, request: () => call(secret, refusingModelId, EXPENSIVE_TEXT) } },
  ],
} as const satisfies Record<string, (target: AttackTarget) => readonly AttackGroup[]>;

export type AttackKind = keyof typeof ATTACKS;
export const ATTACK_KINDS = Object.keys(ATTACKS) as AttackKind[];
