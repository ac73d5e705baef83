import { parseAccount } from '@gateway/admission/limit-store/key-rules.js';
import {
  readArgument,
  POSITIONS,
  type ScriptArgument,
  type ScriptReply,
} from '@gateway/admission/limit-store/script-rules.js';
import type { RunParts } from '../hosts/run-parts.js';

/**
 * Within this time after its bus connection is back, a replica at a superseded limit store learns
 * of the later one from a heartbeat, even if no other replica responds. Until then a change may be
 * in force only at the superseded store (docs/protocol.md#remains).
 */
const HEARD_MS = 2_500;

/** A field of an account in the limit store that has a version, and the version. */
export type FieldVersion = readonly [field: string, version: number];

/**
 * Checks that a change that was confirmed to its sender is in force in the limit store that admits
 * calls, if the account is loaded there (docs/protocol.md#r10).
 */
export function checkInForce(parts: RunParts, account: string, versions: readonly FieldVersion[]): void {
  const { server, truth } = parts;
  for (const [field, version] of versions) truth.told.set(`${account} ${field}`, version);
  if (!server.isOpen(account) || !server.isLoaded(account)) return;
  if (server.hasSuperseded && isElsewhere(parts, account)) return;
  const fields = server.account(account);
  for (const [field, version] of versions)
    if (isOlder(fields, field, version))
      truth.broke('confirmed changes are in force', `${account} ${field}: ${fields[field]}, not ${version}`);
}

/** Whether a change may be in force at a superseded limit store instead. */
function isElsewhere({ server, scenario, truth, admissions, time }: RunParts, account: string): boolean {
  if (!server.isOutranked) return admissions.some((one) => one !== null && time.now - one.host.cutUntil < HEARD_MS);
  const isMisled = scenario.faults.some((fault) => fault.kind === 'failover' && fault.misleads === true);
  if (isMisled) truth.broke('a limit store in use stays in use', account);
  return true;
}

/**
 * Whether a loaded account has an older version. A key's field has its epoch suffix before the
 * version. A key without the account's suffix does not count: it is loaded at its next call.
 */
function isOlder(fields: Readonly<Record<string, string>>, field: string, version: number): boolean {
  const text = fields[field] ?? '0';
  if (field.startsWith('k:') && !text.startsWith(`${fields['t']} `)) return false;
  return Number(text.split(' ').at(-1)) < version;
}

/**
 * Checks that accounts that have just been confirmed have every balance up to the version that
 * billing read, every change that was confirmed to its sender, and that every event stored before
 * is settled (docs/protocol.md#r12). Not checked in runs with a promotion: such a ledger may have
 * lost commits.
 */
export function checkConfirmed(
  { server, ledger, streams, truth, scenario }: RunParts,
  keys: readonly string[],
  args: readonly ScriptArgument[],
  reply: ScriptReply,
): void {
  const begunAt = Number(readArgument('CONFIRM', 'loadStart', args));
  const accounts = keys.slice(POSITIONS.KEY.indexOf('account')).map(parseAccount);
  const confirmed = accounts.filter((_account, index) => reply[2 + index] === 'confirmed');
  truth.counts.confirmed += confirmed.length;
  if (scenario.faults.some(({ kind }) => kind === 'promotion')) return;
  const stored = streams.usage.filter(({ storedAtMs }) => storedAtMs < begunAt).length;
  for (const account of confirmed) {
    const fields = server.account(account);
    const broke = (what: string): void => truth.broke('confirmed accounts match their owners', `${account} ${what}`);
    for (const [name, row] of ledger.rows.get(account) ?? []) {
      const known = fields[`u:${name}`];
      const isAsked = known === undefined && !/^w:(session|week)/.test(name);
      if (Number(row.version) > Number(fields['lv']) || isAsked || Number(known) === Number(row.version)) continue;
      broke(`${name}: ${known}, the ledger has ${row.version}`);
    }
    for (const [told, version] of truth.told) {
      const [of, field = ''] = told.split(' ');
      if (of === account && isOlder(fields, field, version)) broke(`${field}: ${fields[field]}, not ${version}`);
    }
    if (ledger.settledPosition().sequence < stored) broke('before billing has settled the stored events');
  }
}
