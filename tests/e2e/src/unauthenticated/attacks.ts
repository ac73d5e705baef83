import { randomBytes } from 'node:crypto';
import { makeSecret, SECRET_BODY_CHARS } from '@gateway/contracts/ids';
import { holdConnections, repeatRequests } from './attack.js';
import type { AttackBounds, AttackTarget, HeldGroup, RepeatedRequests, RunningAttack } from './attack.js';
import { LARGE, REPEAT } from './repeating-provider.js';
import { CHAT } from './send-request.js';

type Attack =
  | { readonly hold: (target: AttackTarget) => readonly HeldGroup[] }
  | { readonly repeat: (target: AttackTarget) => RepeatedRequests };

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
/** About the longest message of a provider that the gateway processes. */
const MESSAGE_SPACES = 3_980;
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

const bearer = (secret: string): string => `authorization: Bearer ${secret}`;
const getHead = (path: string): string => [`GET ${path} HTTP/1.1`, 'host: gateway', '', ''].join('\r\n');
/** Returns the head of a POST with JSON. `more` contains header lines. */
const postHead = (path: string, ...more: readonly string[]): string =>
  [`POST ${path} HTTP/1.1`, 'host: gateway', 'content-type: application/json', ...more, '', ''].join('\r\n');
const chatBody = (model: string, content: string): string =>
  JSON.stringify({ model, messages: [{ role: 'user', content }] });

/** Attacks by unauthenticated clients, or with a key of the attacker. */
export const ATTACKS = {
  /** Request heads that never end: one more header each second. */
  'slow-heads': {
    hold: ({ edgePort, pagesPort }) => {
      const first = 'GET / HTTP/1.1\r\nhost: gateway\r\n';
      const then = { bytes: Buffer.from('x-more: 1\r\n'), everyMs: 1_000, bytesMax: 2_000 };
      return [
        { port: pagesPort, connections: 1_000, first, then },
        { port: edgePort, connections: 2_000, first, then },
      ];
    },
  },
  /**
   * Bodies that arrive in a few bytes per second. Those for the edge have an unknown key, and most
   * of the body arrives immediately.
   */
  'slow-bodies': {
    hold: ({ edgePort, pagesPort }) => {
      const pages = postHead(SIGN_IN, `content-length: ${SLOW_BYTES}`);
      const edge = postHead(CHAT, `content-length: ${UNKNOWN_KEY_BYTES}`, bearer(makeSecret(KEY_PREFIX)));
      const first = edge + ' '.repeat(UNKNOWN_KEY_BYTES - SLOW_BYTES);
      const then = { bytes: Buffer.from('    '), everyMs: 1_000, bytesMax: SLOW_BYTES - 1 };
      return [
        { port: pagesPort, connections: 500, first: pages, then },
        { port: edgePort, connections: 2_500, first, then },
      ];
    },
  },
  /**
   * Responses that the client does not read: the largest file of the pages many times on each
   * connection, and long model responses.
   */
  'slow-reads': {
    hold: ({ edgePort, pagesPort, largeFile, secret, modelId }) => {
      const call = chatBody(modelId, LARGE);
      const edge = postHead(CHAT, bearer(secret), `content-length: ${call.length}`) + call;
      return [
        { port: pagesPort, connections: 600, first: getHead(largeFile).repeat(FILES_EACH), reads: false },
        { port: edgePort, connections: 64, first: edge, reads: false },
      ];
    },
  },
  /** Bodies of one-byte chunks: to the pages without a session, to the edge with an unknown key. */
  'chunks-without-key': {
    hold: (target) => [
      chunks(target.pagesPort, postHead(SIGN_IN, 'transfer-encoding: chunked')),
      chunksToEdge(target, makeSecret(KEY_PREFIX)),
    ],
  },
  'chunks-with-key': { hold: (target) => [chunksToEdge(target, target.secret)] },
  /**
   * POSTs that announce a body and send none: to the pages without a session, and to the edge with
   * the attacker's key.
   */
  'silent-posts': {
    hold: ({ edgePort, pagesPort, secret }) => [
      { port: pagesPort, connections: 400, first: postHead(SIGN_IN, 'content-length: 50') },
      { port: edgePort, connections: 400, first: postHead(CHAT, bearer(secret), 'content-length: 50') },
    ],
  },
  'idle-connections': {
    hold: ({ edgePort, pagesPort }) => [
      { port: pagesPort, connections: IDLE.pages },
      { port: edgePort, connections: IDLE.edge },
    ],
  },
  /** Unknown keys, each one different. Every other key has a valid checksum. */
  'unknown-keys': {
    repeat: ({ edgePort: port, modelId }) => {
      const body = chatBody(modelId, 'Hello.');
      const unchecked = (): string => KEY_PREFIX + randomBytes(SECRET_BODY_CHARS / 2 + CHECKSUM_BYTES).toString('hex');
      const request = (n: number) => {
        const headers = { authorization: `Bearer ${n % 2 === 0 ? makeSecret(KEY_PREFIX) : unchecked()}` };
        return { port, method: 'POST' as const, path: CHAT, headers, body };
      };
      return { atOnce: 600, everyMs: 500, request };
    },
  },
  /**
   * Unknown operator tokens, each one different: at the pages' sign-in, at the API of the pages,
   * and at the operator API.
   */
  'wrong-operator-tokens': {
    repeat: ({ pagesPort, operatorPort }) => {
      const request = (n: number) => {
        const token = `mgw_op_${randomBytes(TOKEN_BYTES).toString('hex')}`;
        const listed = { method: 'GET' as const, headers: { authorization: `Bearer ${token}` } };
        if (n % 3 === 0) return { ...listed, port: operatorPort, path: '/operator/v1/accounts?limit=1' };
        if (n % 3 === 1) return { ...listed, port: pagesPort, path: '/api/operator/v1/accounts?limit=1' };
        const body = JSON.stringify({ token });
        return { port: pagesPort, method: 'POST' as const, path: '/api/operator/sign-in', body };
      };
      return { atOnce: 300, everyMs: 50, request };
    },
  },
  /** Uploads with the attacker's key: all bytes except the last one immediately, then nothing. */
  'stalled-uploads': {
    hold: ({ edgePort: port, secret }) =>
      UPLOADS.map(({ bytes, ...group }) => ({
        ...group,
        port,
        first: postHead(CHAT, bearer(secret), `content-length: ${bytes}`),
        then: { bytes: Buffer.alloc(Math.min(KIB * KIB, bytes), ' '), everyMs: 0, bytesMax: bytes - 1 },
      })),
  },
  /**
   * Requests whose text the provider repeats in its error. The text has a long run of spaces after
   * a word that the redaction of error messages searches for.
   */
  'expensive-errors': {
    repeat: ({ edgePort: port, secret, modelId }) => {
      const body = chatBody(modelId, `${REPEAT}organization${' '.repeat(MESSAGE_SPACES)}!`);
      const headers = { authorization: `Bearer ${secret}` };
      return { atOnce: 40, everyMs: 100, request: () => ({ port, method: 'POST', path: CHAT, headers, body }) };
    },
  },
} as const satisfies Record<string, Attack>;

export type AttackKind = keyof typeof ATTACKS;
export const ATTACK_KINDS = Object.keys(ATTACKS) as AttackKind[];

export function startAttack(kind: AttackKind, target: AttackTarget, bounds: AttackBounds): RunningAttack {
  const attack: Attack = ATTACKS[kind];
  if ('hold' in attack) return holdConnections(attack.hold(target), bounds);
  return repeatRequests(attack.repeat(target), bounds);
}

/**
 * Parses a list like `slow-heads,idle-connections`; default: all kinds.
 *
 * @throws RangeError if a name is unknown
 */
export function parseKinds(text: string | undefined): AttackKind[] {
  if (text === undefined) return ATTACK_KINDS;
  return text.split(',').map((name) => {
    const kind = ATTACK_KINDS.find((one) => one === name);
    if (kind === undefined) throw new RangeError(`unknown kind ${name}; expected one of: ${ATTACK_KINDS.join(', ')}`);
    return kind;
  });
}

function chunksToEdge({ edgePort }: AttackTarget, secret: string): HeldGroup {
  return chunks(edgePort, postHead(CHAT, 'transfer-encoding: chunked', bearer(secret)));
}

/** Sends up to 150,000 chunks of one byte, 2,000 at each interval. */
function chunks(port: number, first: string): HeldGroup {
  const chunk = '1\r\n \r\n';
  const then = { bytes: Buffer.from(chunk.repeat(2_000)), everyMs: 100, bytesMax: chunk.length * 150_000 };
  return { port, connections: 6, first, then };
}
