import { accountOfKey, argumentOf, POSITIONS, type ScriptCall } from '@gateway/admission/cores';
import type { World } from '../hosts/world.js';
import { versionIn } from './in-force.js';

/**
 * An account that counts as loaded, because its owners said that it is as it was kept, lacks
 * nothing: of balances no version up to the one that billing read, of what was told to be in force
 * nothing, and of what was stored before nothing that is not settled (docs/protocol.md#r12). A
 * ledger that has lost commits since tells nothing.
 */
export function checkConfirmed(world: World, { keys, args }: ScriptCall): void {
  const { server, ledger, streams, truth, scenario } = world;
  truth.counts.confirmed += 1;
  if (scenario.faults.some(({ kind }) => kind === 'promotion')) return;
  const key = keys[POSITIONS.KEY.indexOf('account')] ?? '';
  const [account, fields] = [accountOfKey(key), server.hash(key)];
  const broke = (what: string): void => truth.broke('what is confirmed is what its owners have', `${account} ${what}`);
  for (const [name, row] of ledger.rows.get(account) ?? []) {
    const known = fields[`u:${name}`];
    const isAsked = known === undefined && !/^w:(session|week)/.test(name);
    if (Number(row.version) > Number(fields['lv']) || isAsked || Number(known) === Number(row.version)) continue;
    broke(`${name}: ${known}, the ledger has ${row.version}`);
  }
  for (const [told, version] of truth.told) {
    const [of, field = ''] = told.split(' ');
    // A key that is not marked with the account's epoch is loaded when it calls.
    const isLoaded = !field.startsWith('k:') || fields[field]?.startsWith(`${fields['t']} `) === true;
    if (of === account && isLoaded && versionIn(fields[field]) < version)
      broke(`${field}: ${fields[field]}, ${version} is in force`);
  }
  const begunAt = Number(argumentOf('CONFIRM', 'loadStart', args));
  const stored = streams.usage.filter(({ storedAtMs }) => storedAtMs < begunAt).length;
  if (ledger.settledPosition().sequence < stored) broke('before billing has settled what was stored');
}
