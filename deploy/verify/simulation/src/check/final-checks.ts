import { bucketKeys } from '@gateway/admission/limit-store/key-rules.js';
import { bucketOfAccount } from '@gateway/contracts/ids';
import { monthStart, parseRowName } from '@gateway/metering';
import type { World } from '../hosts/world.js';
import { faultsAfterFailover } from './after-failover.js';
import { checkLedger, checkReplay } from './check-ledger.js';
import { checkRecords } from './check-records.js';
import { expiredInSilence } from './held-in-silence.js';

/** Runs the checks that apply when all work is finished. */
export async function finalChecks(world: World): Promise<void> {
  checkLedger(world);
  checkRecords(world);
  checkMirrors(world);
  expiredInSilence(world);
  faultsAfterFailover(world);
  await checkReplay(world);
}

/** Compares the money rows of the limit store with the ledger. */
function checkMirrors({ server, scenario, ledger, truth }: World): void {
  for (const { name } of scenario.accounts) {
    const keys = bucketKeys(bucketOfAccount(name));
    const fields = server.hash(keys.accounts + name);
    // An account that was not used since the limit store was lost is not loaded yet.
    if (!server.isLoaded(keys.token, fields['t'])) continue;
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
