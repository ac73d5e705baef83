import { bucketOfAccount } from '@gateway/contracts/ids';
import type { AnswerBodyOf, admissionHeld } from '@gateway/contracts/messages';
import { bucketKeys } from '../domain/store-keys.js';
import { heldCall, readHeldReply } from '../domain/read-script.js';
import { AdmissionFault } from '../ports.js';
import type { Ports } from '../ports.js';

/**
 * What the running calls of an account hold: slots, and nano-USD of its wallet.
 * @throws AdmissionFault while its bucket is not open: its calls are not all there yet
 */
export async function readHeld(
  { limitStore }: Pick<Ports, 'limitStore'>,
  account: string,
  noticeLoss: (bucket: number) => void,
): Promise<AnswerBodyOf<typeof admissionHeld>> {
  const bucket = bucketOfAccount(account);
  const [reply] = await limitStore.run([heldCall(bucketKeys(bucket), account)]);
  if (reply === undefined || reply instanceof AdmissionFault) throw reply ?? new Error('no reply');
  const held = readHeldReply(reply);
  if (held !== null) return held;
  noticeLoss(bucket);
  throw new AdmissionFault('admission_error', `the bucket ${bucket} is ${reply[0]}`);
}
