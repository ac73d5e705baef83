import type { Endpoint, HoldFields, UsageEvent } from '@gateway/contracts/messages';
import { type HoldTemplate, readTemplate } from '../limit-store/hold-template-rules.js';
import { type StoredHold, toHoldFields, readHold } from '../limit-store/hold-rules.js';
import { type ScriptCall, type ScriptReply, toArguments, readReplyTime } from '../limit-store/script-rules.js';
import { type BucketKeys, listBucketKeys } from '../limit-store/key-rules.js';

/** Due entries that one script run takes from a bucket. Further entries wait for the next run. */
export const SWEEP_ENTRIES_MAX = 200;

/** Done holds per bucket that one sweep queries billing for again. */
export const ASKED_AGAIN_MAX = 50;

/** A hold that the ledger is queried for. */
export interface DueHold {
  readonly account: string;
  readonly id: string;
  readonly hold: StoredHold;
  readonly template: HoldTemplate;
}

export interface SweepOutcome {
  readonly state: 'open' | 'restoring' | 'lost';
  readonly now: number;
  readonly epoch: string;
  readonly caughtUp: boolean;
  /** Number of entries that had fallen due; {@link SWEEP_ENTRIES_MAX} when there may be more. */
  readonly seen: number;
  readonly slotsFreed: number;
  readonly dueHolds: readonly DueHold[];
}

/**
 * @param silentUntil from the poll that found the bucket
 * @param unsettledMax maximum number of done holds to query billing for again
 */
export function buildSweepCall(keys: BucketKeys, silentUntil: number, unsettledMax: number): ScriptCall {
  const { accounts, holds } = keys;
  return {
    script: 'sweep',
    keys: listBucketKeys(keys),
    args: toArguments('SWEEP', { accounts, holds, entriesMax: SWEEP_ENTRIES_MAX, unsettledMax, silentUntil }),
  };
}

export function readSweepReply(reply: ScriptReply): SweepOutcome {
  const dueHolds: DueHold[] = [];
  for (let at = 6; at + 3 < reply.length; at += 4) {
    const [account = '', id = '', hold = '', template = ''] = reply.slice(at, at + 4);
    dueHolds.push({ account, id, hold: readHold(hold), template: readTemplate(template) });
  }
  return {
    state: reply[0] === 'open' || reply[0] === 'restoring' ? reply[0] : 'lost',
    now: readReplyTime(reply),
    epoch: reply[2] ?? '',
    caughtUp: reply[3] === '1',
    seen: Number(reply[4] ?? 0),
    slotsFreed: Number(reply[5] ?? 0),
    dueHolds,
  };
}

/** A call that its edge will not end any more. */
export interface ExpiredCall {
  readonly id: string;
  readonly hold: HoldFields;
  readonly endpoint: Endpoint | null;
}

export function expiredHold({ account, id, hold, template }: DueHold): ExpiredCall {
  return { id, hold: toHoldFields(account, hold, template), endpoint: template.endpoint };
}

/**
 * Builds the usage event of a call whose edge vanished, with a charge of 0. Every replica must
 * write the same content, because differing events of the same rank become dead letters.
 */
export function expiredEvent({ id, hold, endpoint }: ExpiredCall, due: number): UsageEvent {
  return {
    id,
    rank: 1,
    outcome: 'expired',
    hold,
    endpoint,
    streamed: false,
    startedAt: hold.admittedAt,
    endedAt: due,
    firstByteAt: null,
    status: null,
    source: null,
    usage: null,
    evidence: 'none',
    price: null,
    amountNanoUsd: 0,
    attempts: [],
  };
}
