import type { Endpoint, HoldFields, UsageEvent } from '@gateway/contracts/messages';
import { type HoldTemplate, readTemplate } from '../limit-store/hold-template-rules.js';
import { type StoredHold, holdFieldsOf, readHold } from '../limit-store/hold-rules.js';
import { type ScriptCall, type ScriptReply, inOrder, timeOfReply } from '../limit-store/script-rules.js';
import { type BucketKeys, ownKeys } from '../limit-store/key-rules.js';

/** Due entries that one run of the script takes from a bucket; the rest is for the next run. */
export const SWEEP_ENTRIES_MAX = 200;

/** Done holds of a bucket for which one sweep asks again. */
export const ASKED_AGAIN_MAX = 50;

/** A hold whose end the ledger is asked for. */
export interface DueHold {
  readonly account: string;
  readonly id: string;
  readonly hold: StoredHold;
  readonly template: HoldTemplate;
}

export interface SweepOutcome {
  readonly state: 'open' | 'restoring' | 'lost';
  readonly now: number;
  readonly token: string;
  readonly caughtUp: boolean;
  /** Entries that had fallen due; {@link SWEEP_ENTRIES_MAX} when there may be more. */
  readonly seen: number;
  readonly slotsFreed: number;
  readonly asks: readonly DueHold[];
}

/**
 * @param silentUntil of the look that found the bucket
 * @param askedAgainMax done holds for which billing is asked again, at most
 */
export function sweepCall(keys: BucketKeys, silentUntil: number, askedAgainMax: number): ScriptCall {
  const { accounts, holds } = keys;
  return {
    script: 'sweep',
    keys: ownKeys(keys),
    args: inOrder('SWEEP', { accounts, holds, entriesMax: SWEEP_ENTRIES_MAX, askedAgainMax, silentUntil }),
  };
}

export function readSweepReply(reply: ScriptReply): SweepOutcome {
  const asks: DueHold[] = [];
  for (let at = 6; at + 3 < reply.length; at += 4) {
    const [account = '', id = '', hold = '', template = ''] = reply.slice(at, at + 4);
    asks.push({ account, id, hold: readHold(hold), template: readTemplate(template) });
  }
  return {
    state: reply[0] === 'open' || reply[0] === 'restoring' ? reply[0] : 'lost',
    now: timeOfReply(reply),
    token: reply[2] ?? '',
    caughtUp: reply[3] === '1',
    seen: Number(reply[4] ?? 0),
    slotsFreed: Number(reply[5] ?? 0),
    asks,
  };
}

/** A call that nobody will end any more. */
export interface ExpiredCall {
  readonly id: string;
  readonly hold: HoldFields;
  readonly endpoint: Endpoint | null;
}

export function expiredHold({ account, id, hold, template }: DueHold): ExpiredCall {
  return { id, hold: holdFieldsOf(account, hold, template), endpoint: template.endpoint };
}

/**
 * The record of a call whose edge vanished: charged 0. Every replica writes the same content, since
 * events of one rank that differ are set aside.
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
