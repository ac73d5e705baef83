import type { BodyOf, accountsUnchanged, billingUnchanged } from '@gateway/contracts/messages';
import { bucketOfAccount } from '@gateway/contracts/ids';
import { ledgerEpochMark } from './apply-script.js';
import type { ScriptCall, ScriptReply } from './script-call.js';
import { timeOfReply } from './script-call.js';
import { inOrder } from './script-positions.js';
import { accountKeys, bucketKeys } from './store-keys.js';

/** What billing is asked of one account. */
export type KeptBalances = BodyOf<typeof billingUnchanged>['accounts'][number];
/** What accounts is asked of it. */
export type KeptRecords = BodyOf<typeof accountsUnchanged>['accounts'][number];

/** An account that the limit store has kept through a loss of its epoch. */
export interface KeptAccount {
  readonly account: string;
  readonly token: string;
  /** Redis time of its digest, ms. */
  readonly startedAt: number;
  readonly digest: string;
  readonly balances: KeptBalances;
  readonly records: KeptRecords;
}

/**
 * `none`: it was not loaded, or is again. `large`: it has too many parts. `closed`: its bucket has
 * been lost again.
 */
export type DigestOutcome =
  { readonly kind: 'kept'; readonly kept: KeptAccount } | { readonly kind: 'none' | 'large' | 'closed' };

/** Parts of a reply before the digest, and of a digest before its names. */
const REPLY_FIXED = 3;
const DIGEST_FIXED = 3;

export function digestCall(account: string): ScriptCall {
  return { script: 'digest', keys: accountKeys(bucketKeys(bucketOfAccount(account)), account), args: [] };
}

export function readDigestReply(account: string, reply: ScriptReply): DigestOutcome {
  const [kind] = reply;
  if (kind === 'none' || kind === 'large') return { kind };
  if (kind !== 'kept') return { kind: 'closed' };
  const digest = reply.slice(REPLY_FIXED);
  const [, stateVersion, termsVersion] = digest;
  const balances: KeptBalances = { account, termsVersion: Number(termsVersion), rows: [] };
  const records: KeptRecords = { account, version: Number(stateVersion), keys: [], members: [] };
  for (let at = DIGEST_FIXED; at + 1 < digest.length; at += 2) {
    const [field = '', value = ''] = digest.slice(at, at + 2);
    const id = field.slice(2);
    // A key's mark stands before its version, a member's cap after it.
    if (field.startsWith('u:')) balances.rows.push({ name: id, version: Number(value) });
    else if (field.startsWith('k:')) records.keys.push({ id, version: Number(value.split(' ')[1]) });
    else records.members.push({ id, version: Number(value.split(' ')[0]) });
  }
  const startedAt = timeOfReply(reply);
  return {
    kind: 'kept',
    kept: { account, token: reply[2] ?? '', startedAt, digest: digest.join('\n'), balances, records },
  };
}

/** @param version of the account, in the snapshot in which billing found it unchanged */
export function confirmCall(
  { account, token, startedAt, digest }: KeptAccount,
  ledgerEpoch: string,
  version: number,
): ScriptCall {
  return {
    script: 'confirm',
    keys: accountKeys(bucketKeys(bucketOfAccount(account)), account),
    args: inOrder('CONFIRM', {
      loadToken: token,
      loadStart: startedAt,
      ledgerEpoch: ledgerEpochMark(ledgerEpoch),
      accountVersion: version,
      digest,
    }),
  };
}
