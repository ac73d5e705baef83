import { makeSecret } from '@gateway/contracts/ids';
import type { StartAttack } from '../attack.js';
import { holdConnections } from '../hold-connections.js';
import { bearer, CHAT, PAGES_SIGN_IN, postHead } from '../request-heads.js';

const EDGE_CONNECTIONS = 2_500;
const PAGES_CONNECTIONS = 500;
/** The largest that the edge has read of an unknown key at once. */
const EDGE_BYTES = 256 * 1024;
const PAGES_BYTES = 4_096;

/**
 * Bodies that come as a few bytes each second; those of the edge come with an invented key, and
 * most of them at once.
 */
export const slowBodies: StartAttack = ({ edgePort, pagesPort }, bounds) => {
  const pages = postHead(PAGES_SIGN_IN, `content-length: ${PAGES_BYTES}`);
  const edge = postHead(CHAT, `content-length: ${EDGE_BYTES}`, bearer(makeSecret('mgw_live_')));
  const first = edge + ' '.repeat(EDGE_BYTES - PAGES_BYTES);
  const then = { bytes: Buffer.from('    '), everyMs: 1_000, bytesMax: PAGES_BYTES - 1 };
  return holdConnections(
    [
      { port: pagesPort, connections: PAGES_CONNECTIONS, first: pages, then, reads: true },
      { port: edgePort, connections: EDGE_CONNECTIONS, first, then, reads: true },
    ],
    bounds,
  );
};
