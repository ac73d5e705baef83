import { makeSecret } from '@gateway/contracts/ids';
import type { AttackTarget, StartAttack } from '../attack.js';
import { holdConnections, type HeldGroup } from '../hold-connections.js';
import { bearer, CHAT, PAGES_SIGN_IN, postHead } from '../request-heads.js';

const PAGES_CONNECTIONS = 6;
const EDGE_CONNECTIONS = 6;
const CHUNK = '1\r\n \r\n';
const CHUNKS_AT_ONCE = 2_000;
const CHUNKS_MAX = 150_000;
const EVERY_MS = 100;
const THEN = {
  bytes: Buffer.from(CHUNK.repeat(CHUNKS_AT_ONCE)),
  everyMs: EVERY_MS,
  bytesMax: CHUNK.length * CHUNKS_MAX,
};
const CHUNKED = 'transfer-encoding: chunked';

/**
 * Bodies of one-byte chunks: to the pages without a session, and to the edge with an unknown key.
 */
export const chunksWithoutKey: StartAttack = (target, bounds) =>
  holdConnections(
    [
      {
        port: target.pagesPort,
        connections: PAGES_CONNECTIONS,
        first: postHead(PAGES_SIGN_IN, CHUNKED),
        then: THEN,
        reads: true,
      },
      atEdge(target, makeSecret('mgw_live_')),
    ],
    bounds,
  );

/** Bodies of one-byte chunks with a valid key. */
export const chunksWithKey: StartAttack = (target, bounds) => holdConnections([atEdge(target, target.secret)], bounds);

function atEdge({ edgePort }: AttackTarget, secret: string): HeldGroup {
  const first = postHead(CHAT, CHUNKED, bearer(secret));
  return { port: edgePort, connections: EDGE_CONNECTIONS, first, then: THEN, reads: true };
}
