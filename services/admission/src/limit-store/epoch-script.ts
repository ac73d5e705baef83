import { BUCKETS_TOTAL } from '@gateway/contracts/ids';
import { type ScriptCall, toArguments } from './script-rules.js';
import { findBucketKeys, listBucketKeys } from './key-rules.js';

export const EPOCH_KEYS: readonly string[] = Array.from(
  { length: BUCKETS_TOTAL },
  (_unused, bucket) => findBucketKeys(bucket).epoch,
);

/** Builds the script that starts a restore under the epoch, if the bucket has none of this run. */
export function buildRestoreCall(bucket: number, epoch: string): ScriptCall {
  return callOf(bucket, { action: 'restore', epoch });
}

/** Builds the script that opens a bucket that is being restored under this epoch. */
export function buildOpenCall(bucket: number, epoch: string): ScriptCall {
  return callOf(bucket, { action: 'open', epoch });
}

/**
 * Builds the script that gives all buckets the epoch and the state `restoring`.
 * @param staleBefore epoch ms; nothing changes if an epoch of this run was set then or later
 */
export function buildReplaceCall(epoch: string, staleBefore: number): ScriptCall {
  return { script: 'replace', keys: EPOCH_KEYS, args: toArguments('REPLACE', { epoch, staleBefore }) };
}

function callOf(bucket: number, args: { action: string; epoch: string }): ScriptCall {
  return { script: 'set-epoch', keys: listBucketKeys(findBucketKeys(bucket)), args: toArguments('SET_EPOCH', args) };
}
