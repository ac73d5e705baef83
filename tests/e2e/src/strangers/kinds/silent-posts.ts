import type { StartAttack } from '../attack.js';
import { holdConnections } from '../hold-connections.js';
import { bearer, CHAT, PAGES_SIGN_IN, postHead } from '../request-heads.js';

const CONNECTIONS = 400;

/**
 * POSTs that announce a body and send none: to the pages without a session, and to the edge with
 * the attacker's key.
 */
export const silentPosts: StartAttack = ({ edgePort, pagesPort, secret }, bounds) =>
  holdConnections(
    [
      {
        port: pagesPort,
        connections: CONNECTIONS,
        first: postHead(PAGES_SIGN_IN, 'content-length: 50'),
        reads: true,
      },
      {
        port: edgePort,
        connections: CONNECTIONS,
        first: postHead(CHAT, bearer(secret), 'content-length: 50'),
        reads: true,
      },
    ],
    bounds,
  );
