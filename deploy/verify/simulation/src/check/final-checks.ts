import { bucketKeys } from '@gateway/admission/limit-store/key-rules.js';
import { bucketOfAccount } from '@gateway/contracts/ids';
import { monthStart, parseRowName } from '@gateway/metering';
import type { World } from '../hosts/world.js';
import { faultsAfterFailover } from './after-failover.js';
import { checkLedger, checkReplay } from './check-ledger.js';
import { checkRecords } from './check-records.js';
import { expiredInSilence } from './held-in-silence.js';

/** What must be true when nothing moves any more. */
export async function finalChecks(world: World): Promise<void> {
  checkLedger(world);
  checkRecords(world);
  checkMirrors(world);
  expiredInSilence(world);
  faultsAfterFailover(world);
  await checkReplay(world);
}

/**
 * What the limit store believes of money is what the ledger says, row by row as far as it knows
 * them.
 */
function checkMirrors({ server, scenario, ledger, truth }: World): void {
  for (const { name } of scenario.accounts) {
    const keys = bucketKeys(bucketOfAccount(name));
    const fields = server.hash(keys.accounts + name);
    // Of an account that nobody has asked for since the limit store was lost nothing is believed
    // yet.
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
      truth.broke('what the limit store lacks is asked for, or nothing', `${name} ${row}: the ledger has ${value}`);
    }
  }
}

/**
 * When the period of a row began (ms); what belongs to no period of the calendar began before every
 * load.
 */
function startOf(name: string): number {
  const row = parseRowName(name);
  if (row?.kind === 'key_month' || row?.kind === 'member_month') return monthStart(row.month);
  return row?.kind === 'window' && row.type !== 'monthly' ? row.start : -Infinity;
}
