import { timeOfUuidV7 } from '@gateway/contracts/ids';
import { MINUTE_MS, minuteOf } from '@gateway/metering';
import { isEmpty } from '../../test/limit-store.js';
import { isServer } from '../faults/fault-plan.js';
import { countEach } from '../runner/render-report.js';
import type { Evidence, LedgerTransaction, ProviderCall, Terms, UsageRecord } from './evidence.js';
import { losesLimitStore } from './judge-call.js';

/** A call may be admitted this long after its ID was made, and then count in the next minute. */
const ADMITTED_WITHIN_MS = 5_000;

/** Checks that no account exceeded a limit, and that no slot, hold or held amount is left. */
export function judgeLimits(evidence: Evidence): string[] {
  const left = evidence.accounts.filter((account) => !isEmpty(account));
  return [
    ...evidence.terms.flatMap((terms) => [
      ...judgeMoney(terms, evidence),
      ...judgeSlots(terms, evidence),
      ...judgeMinutes(terms, evidence),
    ]),
    ...left.map(
      ({ account, slots, holds, heldSums }) =>
        `${account} has ${slots} slots taken, ${holds} holds and held amounts of ${heldSums.join(', ')}`,
    ),
  ];
}

function judgeMoney(terms: Terms, { records, accounts }: Evidence): string[] {
  const { account, windowRequests, keyCapNanoUsd } = terms;
  const settled = records.filter((record) => record.account === account && record.outcome === 'settled');
  const spent = sumOf(settled, ({ chargedNanoUsd }) => chargedNanoUsd);
  const wallet = accounts.find((one) => one.account === account)?.walletNanoUsd ?? 0n;
  const wrong: string[] = [];
  if (wallet < 0n) wrong.push(`the wallet of ${account} is at ${wallet}`);
  if (windowRequests !== null && settled.length > windowRequests) {
    wrong.push(`${account} has ${settled.length} calls in a window of ${windowRequests}`);
  }
  if (keyCapNanoUsd !== null && spent > keyCapNanoUsd) {
    wrong.push(`the key of ${account} spent ${spent} of ${keyCapNanoUsd}`);
  }
  return wrong;
}

/**
 * Checks the concurrency at the provider against the account's slots. Excludes attempts during a
 * silence of an edge that was longer than the lease.
 */
function judgeSlots({ account, slots }: Terms, { calls, provider, faults, leaseMs }: Evidence): string[] {
  const own = new Set(calls.filter((call) => call.account === account).map(({ n }) => n));
  const silences = faults.filter(
    ({ from, until, what, target }) => (what === 'kill' && !isServer(target)) || until - from >= leaseMs,
  );
  const isExcused = ({ begunAt, endedAt }: ProviderCall): boolean =>
    silences.some(({ from, until }) => from <= (endedAt ?? begunAt) && until + leaseMs >= begunAt);
  // The provider notices late that the gateway has disconnected.
  const counted = provider.filter((one) => own.has(one.n) && one.ending !== 'left' && !isExcused(one));
  const steps = counted.flatMap(({ begunAt, endedAt }) => [
    { at: begunAt, by: 1 },
    { at: endedAt ?? Infinity, by: -1 },
  ]);
  let running = 0;
  let most = 0;
  for (const { by } of steps.sort((one, other) => one.at - other.at || one.by - other.by)) {
    running += by;
    most = Math.max(most, running);
  }
  return most <= slots ? [] : [`${account} had ${most} concurrent calls at the provider with ${slots} slots`];
}

/** The count of a minute restarts only if the limit store is lost. */
function judgeMinutes({ account, requestsPerMinute }: Terms, { records, faults }: Evidence): string[] {
  if (requestsPerMinute === null) return [];
  const times = records.filter((one) => one.account === account).map(({ requestId }) => timeOfUuidV7(requestId));
  const certain = times.filter((at) => at % MINUTE_MS <= MINUTE_MS - ADMITTED_WITHIN_MS);
  return [...countEach(certain.map(minuteOf))].flatMap(([minute, count]) => {
    const [start, end] = [minute * MINUTE_MS, (minute + 1) * MINUTE_MS];
    const losses = faults.filter((fault) => losesLimitStore(fault) && fault.from < end && fault.until > start);
    const allowed = requestsPerMinute * (1 + losses.length);
    return count <= allowed ? [] : [`${account} has ${count} calls in a minute of ${allowed}`];
  });
}

/** A violation, and the request ID of the record if it concerns one. */
export interface Finding {
  readonly sentence: string;
  readonly requestId: string | null;
}

/** Checks the ledger for consistency, and compares it with the usage records. */
export function judgeLedger({ ledger, records, accounts, terms }: Evidence): Finding[] {
  const findings: Finding[] = [];
  const entriesOf = new Map<string, Entry[]>();
  for (const { id, requestId, entries } of ledger) {
    const sum = sumOf(entries, ({ amountNanoUsd }) => amountNanoUsd);
    if (sum !== 0n) findings.push({ sentence: `transaction ${id} sums to ${sum}`, requestId });
    if (requestId !== null) entriesOf.set(requestId, [...(entriesOf.get(requestId) ?? []), ...entries]);
  }
  const judged = new Set<string>();
  for (const record of records) {
    const { requestId } = record;
    const sentence = judgeRecord(record, entriesOf.get(requestId) ?? []);
    if (sentence !== null) findings.push({ sentence, requestId });
    if (judged.has(requestId)) findings.push({ sentence: 'has two records', requestId });
    judged.add(requestId);
  }
  for (const requestId of entriesOf.keys())
    if (!judged.has(requestId)) findings.push({ sentence: 'is in the ledger and has no record', requestId });
  for (const { account, walletNanoUsd, viewNanoUsd } of accounts) {
    const credit = terms.find((one) => one.account === account)?.creditNanoUsd ?? 0n;
    const balance = balanceOf(
      `wallet:${account}`,
      ledger.flatMap(({ entries }) => entries),
    );
    const own = records.filter((one) => one.account === account);
    const left = credit - sumOf(own, (one) => one.walletNanoUsd);
    if (new Set([walletNanoUsd, viewNanoUsd, balance, left]).size > 1) {
      const text = `${walletNanoUsd} by the API, ${viewNanoUsd} by the view, ${balance} by its entries`;
      findings.push({ sentence: `wallet of ${account}: ${text}, ${left} by its records`, requestId: null });
    }
  }
  return findings;
}

/** Checks that wallet and plan paid the record's amounts, including all corrections. */
function judgeRecord(record: UsageRecord, entries: readonly Entry[]): string | null {
  const { account, chargedNanoUsd, walletNanoUsd, planNanoUsd } = record;
  if (walletNanoUsd + planNanoUsd !== chargedNanoUsd) return 'wallet and plan do not make up its charge';
  const [wallet, plan] = [-balanceOf(`wallet:${account}`, entries), -balanceOf(`plan:${account}:`, entries)];
  if (wallet !== walletNanoUsd)
    return `took ${walletNanoUsd} from the wallet by its record and ${wallet} by the ledger`;
  return plan === planNanoUsd ? null : `took ${planNanoUsd} from the plan by its record and ${plan} by the ledger`;
}

type Entry = LedgerTransaction['entries'][number];

/** @param of beginning of the names of ledger accounts */
function balanceOf(of: string, entries: readonly Entry[]): bigint {
  return sumOf(entries, ({ ledgerAccount, amountNanoUsd }) => (ledgerAccount.startsWith(of) ? amountNanoUsd : 0n));
}

function sumOf<T>(all: readonly T[], amountOf: (one: T) => bigint): bigint {
  return all.reduce((sum, one) => sum + amountOf(one), 0n);
}
