import { makeSecret } from '@gateway/contracts/ids';
import type { StartAttack } from '../attack.js';
import { holdConnections } from '../hold-connections.js';
import { bearer, CHAT, PAGES_SIGN_IN, postHead } from '../request-heads.js';

const EDGE_CONNECTIONS = 2_500;
const PAGES_CONNECTIONS = 500;
/** The most that the edge reads at once with an unknown key. */
const EDGE_BYTES = 256 * 1024;
const PAGES_BYTES = 4_096;

/**
 * Bodies that arrive in a few bytes per second. Those for the edge have an unknown key, and most of
 * the body arrives immediately.
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
