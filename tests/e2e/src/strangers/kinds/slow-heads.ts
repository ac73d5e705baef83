import type { StartAttack } from '../attack.js';
import { holdConnections } from '../hold-connections.js';

const EDGE_CONNECTIONS = 2_000;
const PAGES_CONNECTIONS = 1_000;

/** Request heads that never end: one more header each second. */
export const slowHeads: StartAttack = ({ edgePort, pagesPort }, bounds) => {
  const first = 'GET / HTTP/1.1\r\nhost: gateway\r\n';
  const then = { bytes: Buffer.from('x-more: 1\r\n'), everyMs: 1_000, bytesMax: 2_000 };
  return holdConnections(
    [
      { port: pagesPort, connections: PAGES_CONNECTIONS, first, then, reads: true },
      { port: edgePort, connections: EDGE_CONNECTIONS, first, then, reads: true },
    ],
    bounds,
  );
};
