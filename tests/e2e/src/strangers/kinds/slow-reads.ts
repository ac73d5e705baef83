import type { StartAttack } from '../attack.js';
import { holdConnections } from '../hold-connections.js';
import { LARGE } from '../repeating-provider.js';
import { bearer, CHAT, getHead, postHead } from '../request-heads.js';

const EDGE_CONNECTIONS = 64;
const PAGES_CONNECTIONS = 600;
/** Requests per connection: their responses exceed the buffers of both sides. */
const FILES_EACH = 30;

/**
 * Responses that the client does not read: the largest file of the pages many times on each
 * connection, and long model responses.
 */
export const slowReads: StartAttack = ({ edgePort, pagesPort, largeFile, secret, modelId }, bounds) => {
  const call = JSON.stringify({ model: modelId, messages: [{ role: 'user', content: LARGE }] });
  const edge = postHead(CHAT, bearer(secret), `content-length: ${call.length}`) + call;
  const pages = getHead(largeFile).repeat(FILES_EACH);
  return holdConnections(
    [
      { port: pagesPort, connections: PAGES_CONNECTIONS, first: pages, reads: false },
      { port: edgePort, connections: EDGE_CONNECTIONS, first: edge, reads: false },
    ],
    bounds,
  );
};
