import { bucketOfAccount } from '@gateway/contracts/ids';
import { UNCHANGED_ACCOUNTS_MAX } from '@gateway/contracts/messages';
import { confirmCall, digestCall, readDigestReply } from '../domain/confirm-script.js';
import type { KeptAccount } from '../domain/confirm-script.js';
import type { ScriptCall, ScriptReply } from '../domain/script-call.js';
import { AdmissionFault } from '../ports.js';
import type { Ports } from '../ports.js';

/** Scripts in one pipeline: what else comes to Redis waits for so many at most. */
const SCRIPTS_MAX = 100;
/** A question is well below the largest message of the bus (1 MB). */
const QUESTION_BYTES_MAX = 600_000;
/** Of an account in a question, and of a name with its version, beside the texts themselves. */
const FRAME_BYTES = 40;

/** What has become of some accounts. What is in none of these was not kept, or is loaded again. */
export interface Confirmed {
  confirmed: number;
  /** An owner says so, or the limit store. */
  changed: number;
  /** Too large, or not answered in time: not known. */
  left: number;
  /** Buckets that have been lost again. */
  readonly closed: Set<number>;
}

/**
 * Confirms those of the accounts that were kept and that both owners know as they are kept
 * (docs/protocol.md#r12). May be repeated: what is confirmed is loaded.
 * @throws Error when Redis or an owner does not answer
 */
export async function confirmAccounts(
  { limitStore, owners }: Pick<Ports, 'limitStore' | 'owners'>,
  accounts: readonly string[],
): Promise<Confirmed> {
  const result: Confirmed = { confirmed: 0, changed: 0, left: 0, closed: new Set() };
  const kept: KeptAccount[] = [];
  const digests = await runInParts(limitStore, accounts.map(digestCall));
  for (const [index, account] of accounts.entries()) {
    const found = readDigestReply(account, digests[index] ?? []);
    if (found.kind === 'kept') kept.push(found.kept);
    else if (found.kind === 'large') result.left += 1;
    else if (found.kind === 'closed') result.closed.add(bucketOfAccount(account));
  }
  for (const part of questionsOf(kept)) {
    const [balances, records] = await Promise.all([
      owners.unchangedBalances(part.map((one) => one.balances)),
      owners.unchangedRecords(part.map((one) => one.records)),
    ]);
    const versions = new Map(balances.accounts.map(({ account, version }) => [account, version]));
    const known = new Set(records.accounts);
    const calls = part.flatMap((one): ScriptCall[] => {
      const version = versions.get(one.account);
      return version === undefined || !known.has(one.account) ? [] : [confirmCall(one, balances.incarnation, version)];
    });
    result.changed += part.length - calls.length;
    for (const [outcome] of await runInParts(limitStore, calls)) {
      if (outcome === 'confirmed' || outcome === 'changed') result[outcome] += 1;
      else result.left += 1;
    }
  }
  return result;
}

/** In the order of the calls. @throws AdmissionFault when one of them could not run */
async function runInParts(limitStore: Ports['limitStore'], calls: readonly ScriptCall[]): Promise<ScriptReply[]> {
  const replies: ScriptReply[] = [];
  for (let from = 0; from < calls.length; from += SCRIPTS_MAX) {
    for (const reply of await limitStore.run(calls.slice(from, from + SCRIPTS_MAX))) {
      if (reply instanceof AdmissionFault) throw reply;
      replies.push(reply);
    }
  }
  return replies;
}

/** Parts that fit into one question to each owner. */
function questionsOf(kept: readonly KeptAccount[]): KeptAccount[][] {
  const parts: KeptAccount[][] = [];
  let bytes = Infinity;
  for (const one of kept) {
    const { rows } = one.balances;
    const { keys, members } = one.records;
    const names = [...rows.map(({ name }) => name), ...[...keys, ...members].map(({ id }) => id), one.account];
    const more = names.reduce((sum, name) => sum + name.length + FRAME_BYTES, FRAME_BYTES);
    if (bytes + more > QUESTION_BYTES_MAX || (parts.at(-1)?.length ?? 0) >= UNCHANGED_ACCOUNTS_MAX) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(one);
    bytes += more;
  }
  return parts;
}
