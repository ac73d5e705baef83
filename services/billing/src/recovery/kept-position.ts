import type { LookUpBucket } from '@gateway/bus';
import { UUID_PATTERN } from '@gateway/contracts/ids';
import { z } from 'zod';
import type { LostCommitsDeps } from './check-ledger.js';

const KEY = 'ledger';
const BUCKET_MS = 2_000;

const count = z.int().min(0);
const position = z.object({
  ledgerEpoch: z.string().regex(UUID_PATTERN),
  consumers: z.string(),
  sequence: count,
  storedAtMs: count,
  timeline: count,
  logBytes: count,
  blocks: count,
});

/** Stores the position in a bucket of the bus (docs/decisions/0018). */
export function createKeptPosition(bucket: LookUpBucket): LostCommitsDeps['kept'] {
  return {
    async read() {
      const text = await bucket.get(KEY, BUCKET_MS);
      return text === null ? null : position.parse(JSON.parse(text));
    },
    write: (kept) => bucket.put(KEY, JSON.stringify(kept), BUCKET_MS),
  };
}
