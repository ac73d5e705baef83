import { BUCKETS_TOTAL } from '@gateway/contracts/ids';
import type { ScriptCall } from './script-call.js';
import { inOrder } from './script-positions.js';
import { bucketKeys, ownKeys } from './store-keys.js';

/**
 * Gives a bucket the epoch and the state `restoring`, where it has none of this run.
 * @param staleBefore an epoch that was set before this time, epoch ms, counts as none
 */
export function restoreCall(bucket: number, token: string, staleBefore = 0): ScriptCall {
  return callOf(bucket, { action: 'restore', token, staleBefore });
}

/** Opens a bucket that is being restored under this epoch. */
export function openCall(bucket: number, token: string): ScriptCall {
  return callOf(bucket, { action: 'open', token, staleBefore: 0 });
}

/**
 * All buckets, the first one last: by its epoch other replicas judge the run, and they shall not
 * find that one replaced alone.
 */
export function replaceCalls(newEpoch: () => string, staleBefore: number): ScriptCall[] {
  return Array.from({ length: BUCKETS_TOTAL }, (_unused, index) =>
    restoreCall(BUCKETS_TOTAL - 1 - index, newEpoch(), staleBefore),
  );
}

function callOf(bucket: number, args: { action: string; token: string; staleBefore: number }): ScriptCall {
  return { script: 'token', keys: ownKeys(bucketKeys(bucket)), args: inOrder('TOKEN', args) };
}
