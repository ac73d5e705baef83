import { parseAccount } from '@gateway/admission/limit-store/key-rules.js';
import {
  readArgument,
  POSITIONS,
  type ScriptCall,
  type ScriptReply,
} from '@gateway/admission/limit-store/script-rules.js';
import type { World } from '../hosts/world.js';
import { isInUse, parseVersion } from './in-force.js';

/** Compares accounts that have just been confirmed with their owners' data. */
export function checkConfirmed(world: World, { keys, args }: ScriptCall, reply: ScriptReply): void {
  const begunAt = Number(readArgument('CONFIRM', 'loadStart', args));
  const accounts = keys.slice(POSITIONS.KEY.indexOf('account'));
  for (const [index, key] of accounts.entries()) if (reply[2 + index] === 'confirmed') checkOne(world, key, begunAt);
}

/**
 * Checks that a confirmed account has every balance up to the version that billing read, every
 * change that was confirmed to its sender, and that every event stored before is settled
 * (docs/protocol.md#r12). Not checked in runs with a promotion: such a ledger may have lost
 * commits.
 */
function checkOne({ server, ledger, streams, truth, scenario }: World, key: string, begunAt: number): void {
  truth.counts.confirmed += 1;
  if (scenario.faults.some(({ kind }) => kind === 'promotion')) return;
  const [account, fields] = [parseAccount(key), server.hash(key)];
  const broke = (what: string): void => truth.broke('confirmed accounts match their owners', `${account} ${what}`);
  for (const [name, row] of ledger.rows.get(account) ?? []) {
    const known = fields[`u:${name}`];
    const isAsked = known === undefined && !/^w:(session|week)/.test(name);
    if (Number(row.version) > Number(fields['lv']) || isAsked || Number(known) === Number(row.version)) continue;
    broke(`${name}: ${known}, the ledger has ${row.version}`);
  }
  for (const [told, version] of truth.told) {
    const [of, field = ''] = told.split(' ');
    if (of === account && isInUse(fields, field) && parseVersion(fields[field]) < version)
      broke(`${field}: ${fields[field]}, ${version} is in force`);
  }
  const stored = streams.usage.filter(({ storedAtMs }) => storedAtMs < begunAt).length;
  if (ledger.settledPosition().sequence < stored) broke('before billing has settled the stored events');
}
