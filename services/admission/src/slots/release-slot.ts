import { BUCKETS_TOTAL, bucketOfAccount } from '@gateway/contracts/ids';
import type { AnswerBodyOf, ReceivedOf, admissionReleaseSlot } from '@gateway/contracts/messages';
import { refuse } from '@gateway/contracts/operator';
import { bucketKeys } from '../domain/store-keys.js';
import { SCAN_BEGIN, takeCall } from '../domain/slot-scripts.js';
import { AdmissionFault } from '../ports.js';
import type { Ports } from '../ports.js';
import { scanBuckets } from './scan-buckets.js';
import type { ScanPlace } from './scan-buckets.js';

export type ReleaseQuestion = ReceivedOf<typeof admissionReleaseSlot>;
export type ReleaseAnswer = AnswerBodyOf<typeof admissionReleaseSlot>;

/** Steps in each bucket: enough for some hundred thousand calls of one bucket. */
const ATTEMPTS_MAX = 1_000;
const ALL_BUCKETS: readonly ScanPlace[] = Array.from({ length: BUCKETS_TOTAL }, (_unused, bucket) => ({
  bucket,
  scan: SCAN_BEGIN,
}));

/**
 * Takes the slot of one call back for good: it is free when this is answered, and the call's edge
 * is told with its next heartbeat to end the call. Its money stays held until its record comes.
 * Repeating it answers the same until the call has ended.
 * @throws AdmissionFault while a bucket that may have the call is not open
 */
export async function releaseSlot(
  ports: Pick<Ports, 'limitStore' | 'log'>,
  { requestId, actor }: ReleaseQuestion,
  noticeLoss: (bucket: number) => void,
): Promise<ReleaseAnswer> {
  const account = await accountOfCall(ports, requestId, noticeLoss);
  if (account === null) return notFound();
  const bucket = bucketOfAccount(account);
  const [reply] = await ports.limitStore.run([takeCall(bucketKeys(bucket), account, requestId)]);
  if (reply === undefined || reply instanceof AdmissionFault) throw reply ?? new Error('no reply');
  // It ended between the two scripts.
  if (reply[0] === 'ended') return notFound();
  if (reply[0] !== 'taken') {
    noticeLoss(bucket);
    throw new AdmissionFault('admission_error', `the bucket ${bucket} is ${reply[0]}`);
  }
  ports.log.info({ id: requestId, account, actor }, 'the slot of a call was taken back');
  return { released: true, account };
}

/**
 * Which account has a call of this id that has not ended: an id does not say it. Every bucket is
 * scanned, all at once.
 */
async function accountOfCall(
  ports: Pick<Ports, 'limitStore'>,
  id: string,
  noticeLoss: (bucket: number) => void,
): Promise<string | null> {
  let places = ALL_BUCKETS;
  for (let round = 0; round < ATTEMPTS_MAX; round += 1) {
    const steps = await scanBuckets(ports, places, `*|${id}`, noticeLoss);
    const found = steps.flatMap(({ holds }) => holds)[0];
    if (found !== undefined) return found.account;
    places = places.flatMap(({ bucket }, index) => {
      const next = steps[index]?.next ?? SCAN_BEGIN;
      return next === SCAN_BEGIN ? [] : [{ bucket, scan: next }];
    });
    if (places.length === 0) return null;
  }
  throw new AdmissionFault('admission_error', 'too many calls to be searched');
}

function notFound(): ReleaseAnswer {
  return refuse('not_found', 'no call with this id is running', 'requestId');
}
