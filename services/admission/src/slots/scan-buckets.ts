import { findBucketKeys } from '../limit-store/key-rules.js';
import { buildListCall, readListReply } from './slot-script.js';
import type { ListStep } from './slot-script.js';
import { AdmissionFault } from '../ports.js';
import type { Ports } from '../ports.js';

/** The position where a bucket's scan continues. */
export interface ScanPlace {
  readonly bucket: number;
  readonly scan: string;
}

/** Entries scanned in one step: some hundred microseconds of Redis time. */
const STEP_ENTRIES = 500;

/**
 * Runs one step in each of these buckets, in one pipeline.
 * @param pattern of `<account>|<id>`
 * @throws AdmissionFault unless every bucket is open, because a restoring bucket is incomplete
 */
export async function scanBuckets(
  { limitStore }: Pick<Ports, 'limitStore'>,
  places: readonly ScanPlace[],
  pattern: string,
  noticeLoss: (bucket: number) => void,
): Promise<ListStep[]> {
  const calls = places.map(({ bucket, scan }) => buildListCall(findBucketKeys(bucket), scan, pattern, STEP_ENTRIES));
  const replies = await limitStore.run(calls);
  return places.map(({ bucket }, index) => {
    const reply = replies[index];
    if (reply === undefined || reply instanceof AdmissionFault) throw reply ?? new Error('no reply');
    const step = readListReply(reply);
    if (step !== null) return step;
    noticeLoss(bucket);
    throw new AdmissionFault('admission_error', `the bucket ${bucket} is ${reply[0]}`);
  });
}
