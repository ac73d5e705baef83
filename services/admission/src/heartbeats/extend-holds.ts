import { bucketOfAccount } from '@gateway/contracts/ids';
import type { HeartbeatCall } from '@gateway/contracts/messages';
import { groupBy } from '@gateway/service-kit/group-by';
import { buildCreateHoldCall, buildHeartbeatCall, readHeartbeatReply } from './heartbeat-script.js';
import type { RunningCall } from './last-heartbeats-rules.js';
import { findBucketKeys } from '../limit-store/key-rules.js';
import { AdmissionFault, type Ports } from '../ports.js';

export interface HoldResult {
  /** Epochs of the buckets whose reported calls are all held now. */
  readonly epochs: { bucket: number; epoch: string }[];
  readonly abort: string[];
  /** Buckets whose calls could not be held. The next heartbeat reports these calls again. */
  readonly failed: number[];
  /**
   * True if a call that the heartbeat only names has lost its hold. A full heartbeat restores it.
   */
  wantsFull: boolean;
}

/**
 * Extends the holds of running calls and creates the holds that were lost with an earlier limit
 * store (docs/protocol.md#r5).
 * @param restoring a call whose lease lapsed takes its slot again (docs/protocol.md#r12); nothing
 * is done in a bucket that is already open
 */
export async function extendHolds(
  ports: Pick<Ports, 'limitStore' | 'durations'>,
  edge: string,
  calls: readonly RunningCall[],
  restoring: boolean,
): Promise<HoldResult> {
  const held: HoldResult = { epochs: [], abort: [], failed: [], wantsFull: false };
  const byBucket = [...groupBy(calls, ({ account }) => bucketOfAccount(account))];
  const replies = await ports.limitStore.run(
    byBucket.map(([bucket, own]) => buildHeartbeatCall(findBucketKeys(bucket), own, ports.durations, restoring)),
  );
  for (const [index, [bucket, own]] of byBucket.entries()) {
    const reply = replies[index];
    const outcome = reply === undefined || reply instanceof AdmissionFault ? null : readHeartbeatReply(reply);
    if (outcome === null || outcome.state === 'lost') {
      held.failed.push(bucket);
      continue;
    }
    held.abort.push(...outcome.abort);
    const lost = own.filter(({ id }) => outcome.lost.has(id)).map(({ full }) => full);
    const known = lost.filter((full) => full !== null);
    if (!(await createLost(ports, bucket, edge, known, restoring))) held.failed.push(bucket);
    else if (known.length < lost.length) held.wantsFull = true;
    else held.epochs.push({ bucket, epoch: outcome.epoch });
  }
  return held;
}

async function createLost(
  { limitStore, durations }: Pick<Ports, 'limitStore' | 'durations'>,
  bucket: number,
  edge: string,
  lost: readonly HeartbeatCall[],
  restoring: boolean,
): Promise<boolean> {
  if (lost.length === 0) return true;
  const replies = await limitStore.run(
    lost.map((call) => buildCreateHoldCall(findBucketKeys(bucket), edge, call, durations, restoring)),
  );
  return replies.every((reply) => !(reply instanceof AdmissionFault) && reply[0] === 'created');
}
