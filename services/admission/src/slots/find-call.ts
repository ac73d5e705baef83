import { BUCKETS_TOTAL } from '@gateway/contracts/ids';
import { SCAN_BEGIN } from './slot-script.js';
import type { RunningHold } from './slot-script.js';
import { AdmissionFault } from '../ports.js';
import type { Ports } from '../ports.js';
import { scanBuckets } from './scan-buckets.js';
import type { ScanPlace } from './scan-buckets.js';

/** Steps in each bucket, enough for some hundred thousand calls in a bucket. */
const ATTEMPTS_MAX = 1_000;
const ALL_BUCKETS: readonly ScanPlace[] = Array.from({ length: BUCKETS_TOTAL }, (_unused, bucket) => ({
  bucket,
  scan: SCAN_BEGIN,
}));

/**
 * Finds the call with this ID if it has not ended, or returns null. Scans all buckets concurrently,
 * because an ID does not contain the account.
 * @throws AdmissionFault while a bucket that may contain the call is not open
 */
export async function findCall(
  ports: Pick<Ports, 'limitStore'>,
  id: string,
  noticeLoss: (bucket: number) => void,
): Promise<RunningHold | null> {
  let places = ALL_BUCKETS;
  for (let round = 0; round < ATTEMPTS_MAX; round += 1) {
    const steps = await scanBuckets(ports, places, `*|${id}`, noticeLoss);
    const found = steps.flatMap(({ holds }) => holds)[0];
    if (found !== undefined) return found;
    places = places.flatMap(({ bucket }, index) => {
      const next = steps[index]?.next ?? SCAN_BEGIN;
      return next === SCAN_BEGIN ? [] : [{ bucket, scan: next }];
    });
    if (places.length === 0) return null;
  }
  throw new AdmissionFault('admission_error', 'too many calls to search');
}
