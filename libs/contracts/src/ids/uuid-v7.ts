import { randomFillSync } from 'node:crypto';

/** Random bytes are fetched for this many ids at once: one system call instead of one an id. */
const POOL_IDS = 256;
const pool = new Uint8Array(POOL_IDS * 10);
let used = POOL_IDS;

/**
 * A UUIDv7 (RFC 9562): 48 bits of milliseconds, then 74 random bits. `nowMs` is epoch milliseconds
 * on the clock that the id shall carry; ledger partitions are chosen by it.
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

/** The epoch milliseconds inside a UUIDv7. The text must match `UUID_PATTERN`. */
export function timeOfUuidV7(id: string): number {
  return parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
