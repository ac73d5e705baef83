import { keyMonthRow, memberMonthRow } from '@gateway/metering';
import type { BucketKeys } from './gate-keys.js';
import type { PreparedCall } from './prepare-call.js';
import type { ScriptCall } from './script-call.js';

/** `open`: rows 4 to 6. `count`: rows 4 to 17, nothing is held. `admit`: all rows, and a hold. */
export type AdmitMode = 'open' | 'admit' | 'count';

export interface AdmitTarget {
  readonly keys: BucketKeys;
  readonly account: string;
  readonly key: string;
  readonly id: string;
  /** Epoch milliseconds inside the id. */
  readonly idTime: number;
  readonly edge: string;
  /** The place in the minute was taken before. */
  readonly counted: boolean;
  /** How long the hold's slot waits for the first beat, and the hold for any, in milliseconds. */
  readonly firstLeaseMs: number;
  readonly expiryMs: number;
}

/** Fields of the account that every decision reads, in the order in which the script knows them. */
const ACCOUNT_FIELDS = ['t', 'at', 's', 'n', 'tv', 'ss', 'lt', 'x'];
const NO_VERSION = '-';

/** Asks for what this process does not know of account and key; decides nothing. */
export function probeCall(target: AdmitTarget): ScriptCall {
  return admitCall(target, null);
}

/** The decision on a prepared call. The order of the arguments is the one of `lua/admit.lua`. */
export function decisionCall(target: AdmitTarget, prepared: PreparedCall): ScriptCall {
  return admitCall(target, prepared);
}

function admitCall(target: AdmitTarget, prepared: PreparedCall | null): ScriptCall {
  const { keys, account } = target;
  const funded = prepared?.funded ?? null;
  const billed = funded?.billed ?? null;
  const plan = billed?.plan ?? null;
  const key = prepared?.known.key;
  const monthRows = billed && key ? [keyMonthRow(key.key, billed.month), memberMonthRow(key.member, billed.month)] : ['', ''];
  const windows = plan?.windows ?? [];
  const minutes = key?.kind === 'playground' ? keys.playgroundMinutes : keys.minutes;
  const args = [
    modeOf(prepared), // 3
    target.counted ? '1' : '0',
    account, // 5
    target.id,
    target.idTime,
    bound(prepared?.validity.from ?? 0),
    bound(prepared?.validity.until ?? Infinity),
    key ? key.version : NO_VERSION, // 10
    prepared ? prepared.known.termsVersion : NO_VERSION,
    prepared?.keyRow ?? 0,
    `${minutes}${account}:`,
    prepared?.requestsPerMinute ?? 0,
    prepared?.factRow ?? 0, // 15
    funded?.funding ?? 'none',
    prepared?.known.terms.concurrency ?? 0,
    billed?.worst ?? 0,
    billed?.least ?? 0,
    billed?.shape.id ?? '', // 20
    billed?.shape.text ?? '',
    target.edge,
    target.firstLeaseMs,
    target.expiryMs,
    billed?.monthStart ?? 0, // 25
    key?.capNanoUsd ?? '',
    monthRows[0] ?? '',
    monthRows[1] ?? '',
    windows.length, // 29
    ...windows.map(limitText),
    plan?.allotment ? limitText(plan.allotment) : '',
    plan ? plan.session.map(({ unit, limit }) => `${unit} ${limit}`).join(' ') : '',
    ...ACCOUNT_FIELDS,
  ];
  if (funded) args.push('v:wallet', 'h:wallet');
  if (billed) {
    args.push(`c:${billed.shape.id}`, `mc:${billed.hold.member}`);
    const rows = [...monthRows, ...windows.map(({ row }) => row), ...(plan?.allotment ? [plan.allotment.row] : [])];
    for (const row of rows) args.push(`v:${row}`, `h:${row}`);
  }
  return {
    script: 'admit',
    keys: [keys.token, keys.due, keys.accounts + account, keys.holds + account, keys.keyRecords + target.key],
    args,
  };
}

function modeOf(prepared: PreparedCall | null): AdmitMode {
  if (!prepared?.funded) return 'open';
  return prepared.funded.billed ? 'admit' : 'count';
}

function limitText(limit: { unit: string; limit: number; periodStart: number; resetsAt: number; row: string }): string {
  return `${limit.unit} ${limit.limit} ${limit.periodStart} ${limit.resetsAt} ${limit.row}`;
}

/** Largest time of the contracts, for spans without an end. */
const TIME_MAX = 8.64e15;

function bound(time: number): number {
  return Math.min(time, TIME_MAX);
}
