import { bucketOfAccount } from '@gateway/contracts/ids';
import type { AnswerBodyOf, ReceivedOf, admissionReleaseSlot } from '@gateway/contracts/messages';
import { refuse } from '@gateway/contracts/operator';
import { findBucketKeys } from '../limit-store/key-rules.js';
import { buildTakeCall } from './slot-script.js';
import { AdmissionFault } from '../ports.js';
import type { Ports } from '../ports.js';
import { findCall } from './find-call.js';

export type ReleaseQuestion = ReceivedOf<typeof admissionReleaseSlot>;
export type ReleaseAnswer = AnswerBodyOf<typeof admissionReleaseSlot>;

/**
 * Takes back the slot of one call for good. The slot is free when this returns. With the next
 * heartbeat reply the call's edge is requested to end the call. Its money stays held until its
 * record arrives. Repeating the request returns the same result until the call has ended.
 * @throws AdmissionFault while a bucket that may contain the call is not open
 */
export async function releaseSlot(
  ports: Pick<Ports, 'limitStore' | 'log'>,
  { requestId, author: { actor, origin } }: ReleaseQuestion,
  noticeLoss: (bucket: number) => void,
): Promise<ReleaseAnswer> {
  const call = await findCall(ports, requestId, noticeLoss);
  if (call === null) return createNotFound();
  const { account } = call;
  const bucket = bucketOfAccount(account);
  const [reply] = await ports.limitStore.run([buildTakeCall(findBucketKeys(bucket), account, requestId)]);
  if (reply === undefined || reply instanceof AdmissionFault) throw reply ?? new Error('no reply');
  // The call ended between the two scripts.
  if (reply[0] === 'ended') return createNotFound();
  if (reply[0] !== 'taken') {
    noticeLoss(bucket);
    throw new AdmissionFault('admission_error', `the bucket ${bucket} is ${reply[0]}`);
  }
  ports.log.info(
    { id: requestId, account, actor, operatorRequestId: origin.requestId },
    'the slot of a call was taken back',
  );
  return { released: true, account };
}

function createNotFound(): ReleaseAnswer {
  return refuse('not_found', 'no call with this id is running', 'requestId');
}
