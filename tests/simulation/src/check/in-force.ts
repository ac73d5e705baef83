import { findBucketKeys } from '@gateway/admission/limit-store/key-rules.js';
import { bucketOfAccount } from '@gateway/contracts/ids';
import type { AccountRecord, BalanceSnapshot, KeyRecord } from '@gateway/contracts/messages';
import type { RunParts } from '../hosts/run-parts.js';

/**
 * Time after a bus reconnect within which a replica at a superseded limit store receives a
 * heartbeat if no other replica answers it. Until then a change may be in force only there
 * (docs/protocol.md#remains).
 */
const HEARD_MS = 2_500;

/** A change that was confirmed to its sender, with the versions of its parts. */
interface ConfirmedChange {
  readonly account: string;
  /** The account's field in the limit store that has the version, and the version. */
  readonly versions: readonly (readonly [field: string, version: number])[];
}

/**
 * Checks that a confirmed change is in force in the limit store that admits calls, if the account
 * is loaded there (docs/protocol.md#r10).
 */
export function checkInForce(parts: RunParts, { account, versions }: ConfirmedChange): void {
  const { server, truth } = parts;
  const keys = findBucketKeys(bucketOfAccount(account));
  const fields = server.hash(keys.accounts + account);
  for (const [field, version] of versions) truth.told.set(`${account} ${field}`, version);
  if (!server.isOpen(keys.epoch) || !server.isLoaded(keys.epoch, fields['t'])) return;
  if (server.hasSuperseded && isElsewhere(parts, keys.epoch)) return;
  for (const [field, version] of versions) {
    if (!isInUse(fields, field)) continue;
    const known = parseVersion(fields[field]);
    if (known < version) truth.broke('confirmed changes are in force', `${account} ${field}: ${known}, not ${version}`);
  }
}

/** Whether a change may be in force at a superseded limit store instead. */
function isElsewhere({ server, scenario, truth, admissions, time }: RunParts, epochKey: string): boolean {
  if (!server.isOutranked) return admissions.some((one) => one !== null && time.now - one.host.cutUntil < HEARD_MS);
  const isMisled = scenario.faults.some((fault) => fault.kind === 'failover' && fault.misleads === true);
  if (isMisled) truth.broke('a limit store in use stays in use', epochKey);
  return true;
}

/**
 * Whether a field of a loaded account counts. A key without the account's epoch suffix is loaded at
 * its next call.
 */
export function isInUse(fields: Readonly<Record<string, string>>, field: string): boolean {
  return !field.startsWith('k:') || fields[field]?.startsWith(`${fields['t']} `) === true;
}

/** Returns the version in a field. A key's field has its epoch suffix before the version. */
export function parseVersion(text = '0'): number {
  return Number(text.split(' ').at(-1));
}

export function toldOfKey({ account, key, version }: KeyRecord): ConfirmedChange {
  return { account, versions: [[`k:${key}`, version]] };
}

export function toldOfAccount({ account, version }: AccountRecord): ConfirmedChange {
  return { account, versions: [['sv', version]] };
}

export function toldOfSnapshot({ account, rows, terms }: BalanceSnapshot): ConfirmedChange {
  const ofRows = rows.filter(({ name }) => name === 'wallet').map(({ version }) => ['u:wallet', version] as const);
  return { account, versions: terms ? [...ofRows, ['tv', terms.version]] : ofRows };
}
