import type { StartAttack } from '../attack.js';
import { holdConnections } from '../hold-connections.js';

/** More than the listeners accept. */
const EDGE_CONNECTIONS = 16_600;
const PAGES_CONNECTIONS = 700;

/** Connections that send nothing. */
export const idleConnections: StartAttack = ({ edgePort, pagesPort }, bounds) =>
  holdConnections(
    [
      { port: pagesPort, connections: PAGES_CONNECTIONS, reads: true },
      { port: edgePort, connections: EDGE_CONNECTIONS, reads: true },
    ],
    bounds,
  );
