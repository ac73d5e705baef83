import type { HeartbeatCall } from '@gateway/contracts/messages';
import { groupBy } from '@gateway/service-kit/group-by';
import { storeTemplate, toTemplate } from '../limit-store/hold-template-rules.js';
import { toHoldNumbers } from '../limit-store/hold-rules.js';
import type { RunningCall } from './last-heartbeats-rules.js';
import { type ScriptCall, type ScriptReply, toArguments, readReplyTime } from '../limit-store/script-rules.js';
import { type BucketKeys, listAccountKeys, listBucketKeys } from '../limit-store/key-rules.js';

/**
 * Time in milliseconds that a confirmed call keeps its slot and its hold without another heartbeat.
 */
export interface HeartbeatSpans {
  readonly leaseMs: number;
  readonly expiryMs: number;
}

/**
 * @param restoring gives a slot back to calls whose lease lapsed while the limit store was away;
 * has no effect on an open bucket
 */
export function buildHeartbeatCall(
  keys: BucketKeys,
  calls: readonly Pick<RunningCall, 'id' | 'account' | 'callEpoch'>[],
  spans: HeartbeatSpans,
  restoring: boolean,
): ScriptCall {
  const isRestoring = restoring ? '1' : '0';
  const args = toArguments('HEARTBEAT', { accounts: keys.accounts, holds: keys.holds, ...spans, isRestoring });
  for (const [account, own] of groupBy(calls, ({ account }) => account)) {
    args.push(...toArguments('HEARTBEAT_ACCOUNT', { account, calls: own.length }));
    for (const { id, callEpoch } of own) args.push(...toArguments('HEARTBEAT_CALL', { id, callEpoch }));
  }
  return { script: 'heartbeat', keys: listBucketKeys(keys), args };
}

export interface HeartbeatOutcome {
  /** `lost`: the bucket has no epoch, so nothing was done. */
  readonly state: 'open' | 'restoring' | 'lost';
  readonly now: number;
  readonly epoch: string;
  /** Calls whose hold was lost with an earlier limit store. */
  readonly lost: ReadonlySet<string>;
  /** Calls that the edge must end. */
  readonly abort: readonly string[];
}

export function readHeartbeatReply(reply: ScriptReply): HeartbeatOutcome {
  const lost = Number(reply[3] ?? 0);
  return {
    state: reply[0] === 'open' || reply[0] === 'restoring' ? reply[0] : 'lost',
    now: readReplyTime(reply),
    epoch: reply[2] ?? '',
    lost: new Set(reply.slice(4, 4 + lost)),
    abort: reply.slice(4 + lost),
  };
}

/** Builds the script that creates a lost hold again. @param restoring only in a restoring bucket */
export function buildCreateHoldCall(
  keys: BucketKeys,
  edge: string,
  call: HeartbeatCall,
  spans: HeartbeatSpans,
  restoring: boolean,
): ScriptCall {
  const { id, hold, callEpoch, endpoint } = call;
  const template = storeTemplate(toTemplate(hold, endpoint));
  return {
    script: 'create',
    keys: listAccountKeys(keys, hold.account),
    args: toArguments('CREATE', {
      account: hold.account,
      id,
      callEpoch,
      edge,
      ...spans,
      ...toHoldNumbers(hold),
      shape: template.id,
      shapeText: template.text,
      onlyRestoring: restoring ? '1' : '0',
    }),
  };
}
