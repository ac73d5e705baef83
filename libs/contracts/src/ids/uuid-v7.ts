import { randomFillSync } from 'node:crypto';

/** Number of IDs whose random bytes are read together, to save system calls. */
const POOL_IDS = 256;
const pool = new Uint8Array(POOL_IDS * 10);
let used = POOL_IDS;

/**
 * Creates a UUIDv7 (RFC 9562): 48 bits of milliseconds, then 74 random bits. `nowMs` is the time in
 * the ID, in epoch milliseconds; it selects the ledger partition.
 */
export function makeUuidV7(nowMs: number): string {
  if (used === POOL_IDS) {
    randomFillSync(pool);
    used = 0;
  }
  const random = Buffer.from(pool.buffer, used * 10, 10);
  used += 1;
  const time = nowMs.toString(16).padStart(12, '0');
  const tail = random.toString('hex');
  const variant = ((random[2] ?? 0) & 0x3f) | 0x80;
  return `${time.slice(0, 8)}-${time.slice(8)}-7${tail.slice(0, 3)}-${variant.toString(16)}${tail.slice(6, 8)}-${tail.slice(8)}`;
}

/** Returns the epoch milliseconds of a UUIDv7. The text must match `UUID_PATTERN`. */
export function timeOfUuidV7(id: string): number {
  return parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
