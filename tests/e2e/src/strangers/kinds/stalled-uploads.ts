import type { StartAttack } from '../attack.js';
import { holdConnections, type HeldGroup } from '../hold-connections.js';
import { bearer, CHAT, postHead } from '../request-heads.js';

const KIB = 1024;
/**
 * Uploads of the largest allowed body: as many as would fit into the 512 MiB of an edge without
 * per-account shares.
 */
const LARGEST = { bytes: 10 * KIB * KIB, connections: 51 };
/**
 * Smaller uploads fill the remaining memory. Each size starts after the previous one has arrived.
 * The last size is smaller than a valid request.
 */
const SMALLER = [
  { bytes: 64 * KIB, connections: 34, afterMs: 3_000 },
  { bytes: 4 * KIB, connections: 20, afterMs: 4_000 },
  { bytes: 256, connections: 40, afterMs: 5_000 },
  { bytes: 64, connections: 40, afterMs: 6_000 },
];
const PIECE_BYTES = KIB * KIB;

/** Uploads with the attacker's key: all bytes except the last one immediately, then nothing. */
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
