import { findBucketKeys } from '@gateway/admission/limit-store/key-rules.js';
import { bucketOfAccount } from '@gateway/contracts/ids';
import { monthStart, parseRowName } from '@gateway/metering';
import type { World } from '../hosts/world.js';
import { GONE_MS } from '../scenario/run-kinds.js';
import { checkAnsweredAfterFailover } from './after-failover.js';
import type { CallTruth } from './call-truth.js';
import { checkLedger, checkReplay } from './check-ledger.js';
import { checkRecords } from './check-records.js';
import { checkNotExpiredInSilence } from './held-in-silence.js';
import type { Refusal } from './truth.js';

/** Runs the checks that apply when all work is finished. */
export async function runFinalChecks(world: World): Promise<void> {
  checkLedger(world);
  checkRecords(world);
  checkMirrors(world);
  checkNotExpiredInSilence(world);
  checkAnsweredAfterFailover(world);
  await checkReplay(world);
}

/** Compares the money rows of the limit store with the ledger. */
function checkMirrors({ server, scenario, ledger, truth }: World): void {
  for (const { name } of scenario.accounts) {
    const keys = findBucketKeys(bucketOfAccount(name));
    const fields = server.hash(keys.accounts + name);
    // An account that was not used since the limit store was lost is not loaded yet.
    if (!server.isLoaded(keys.epoch, fields['t'])) continue;
    for (const [field, value] of Object.entries(fields)) {
      if (!field.startsWith('v:') || field.startsWith('v:w:session')) continue;
      const row = ledger.row(name, field.slice(2));
      if (value === '' ? row !== undefined : Number(value) !== Number(row?.value ?? 0n)) {
        truth.broke('the limit store mirrors the ledger', `${name} ${field}: ${value}, the ledger has ${row?.value}`);
      }
    }
    for (const [row, { value }] of ledger.rows.get(name) ?? []) {
      if (`v:${row}` in fields || startOf(row) <= Number(fields['at']) || value === 0n) continue;
      truth.broke(
        'a balance missing from the limit store is loaded on demand or zero',
        `${name} ${row}: the ledger has ${value}`,
      );
    }
  }
}

/** Start of a row's period (ms). A row without a calendar period started before every load. */
function startOf(name: string): number {
  const row = parseRowName(name);
  if (row?.kind === 'key_month' || row?.kind === 'member_month') return monthStart(row.month);
  return row?.kind === 'window' && row.type !== 'monthly' ? row.start : -Infinity;
}

/**
 * Checks that calls of an edge that is long gone do not cause refusals, even after a loss of the
 * limit store (docs/protocol.md#r12). Applies only to runs with an `edge-killed` fault: nothing
 * else there uses the account's slots.
 */
export function checkGoneEdge({ truth, time, scenario }: World, call: CallTruth, { code }: Refusal): void {
  const killed = scenario.faults.find(({ kind }) => kind === 'edge-killed');
  if (killed === undefined || !('at' in killed)) return;
  if (time.now - time.startedAt > killed.at + GONE_MS)
    truth.broke('calls of a gone edge cause no refusals', `${call.client.id} by ${code}`);
}

/**
 * Checks that a client's own ended calls do not cause a refusal (docs/protocol.md#r4). If a call is
 * refused for lack of a slot, at least as many other calls of its account were running as there are
 * slots. If it is refused for lack of money, the wallet less the charges does not cover it. Applies
 * only if clients call one at a time and nothing goes wrong: a lost release keeps its slot for a
 * while.
 */
export function checkOwnHold(world: World, call: CallTruth, { code, facts }: Refusal): void {
  const { truth, scenario } = world;
  if (scenario.faults.length > 0 || scenario.acts.some(({ kind }) => kind !== 'series')) return;
  const others = truth.calls.filter((other) => other !== call && other.account === call.account);
  const running = others.filter(({ client }) => (client.seen.endedAt ?? Infinity) > call.client.begunAt);
  if (code === 'concurrency_limit' && running.length < (facts.limit ?? 0))
    truth.broke(
      'no client is refused for its own slot',
      `${call.id}: ${running.length} others run, ${facts.limit} slots`,
    );
  if (code !== 'insufficient_credits' || running.length > 0) return;
  const charged = others.reduce((sum, { event }) => sum + (event?.amountNanoUsd ?? 0), 0);
  const funds = truth.entries.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0);
  if (funds - charged >= (facts.worst ?? 0))
    truth.broke(
      'no client is refused for its own worst case',
      `${call.id}: ${funds} less ${charged} for ${facts.worst}`,
    );
}
