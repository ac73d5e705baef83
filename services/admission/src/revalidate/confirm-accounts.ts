import { bucketOfAccount } from '@gateway/contracts/ids';
import { UNCHANGED_ACCOUNTS_MAX } from '@gateway/contracts/messages';
import { groupBy } from '@gateway/service-kit';
import { buildConfirmCall, buildSummaryCall, readConfirmReply, readSummaryReply } from './confirm-script.js';
import type { KeptAccount, KeptGroup } from './confirm-script.js';
import type { ScriptCall, ScriptReply } from '../limit-store/script-rules.js';
import { AdmissionFault } from '../ports.js';
import type { Ports } from '../ports.js';

/** Accounts in one script: about a millisecond of Redis time. */
const SCRIPT_ACCOUNTS = 25;
/** Scripts in one pipeline. A sweep waits for at most this many. */
const SCRIPTS_MAX = 4;
/**
 * Maximum size of a request. It is well below the largest bus message (1 MB), and the parts of one
 * script always fit.
 */
const QUESTION_BYTES_MAX = 600_000;
/** Bytes per account in a request, and per name with its version, in addition to the texts. */
const FRAME_BYTES = 30;

/** Results for a group of accounts. Accounts in no count were not kept or are loaded again. */
export interface ConfirmResult {
  confirmed: number;
  /** An owner or the limit store reported a difference. */
  changed: number;
  /** Too large, or no response in time, so their state is unknown. */
  left: number;
  /** Buckets that were lost again. */
  readonly closed: Set<number>;
}

/**
 * Confirms those of the accounts that were kept and whose data are the same at both owners
 * (docs/protocol.md#r12). Repeatable: a confirmed account counts as loaded.
 * @throws Error when Redis or an owner does not respond
 */
export async function confirmAccounts(
  { limitStore, owners }: Pick<Ports, 'limitStore' | 'owners'>,
  accounts: readonly string[],
): Promise<ConfirmResult> {
  const result: ConfirmResult = { confirmed: 0, changed: 0, left: 0, closed: new Set() };
  for (const groups of questionsOf(await keptGroups(limitStore, accounts, result))) {
    const asked = groups.flatMap(({ kept }) => kept);
    const [balances, records] = await Promise.all([
      owners.unchangedBalances(asked.map((one) => one.balances)),
      owners.unchangedRecords(asked.map((one) => one.records)),
    ]);
    const known = new Set(records.accounts);
    const versions = new Map(
      balances.accounts.flatMap(({ account, version }) => (known.has(account) ? [[account, version] as const] : [])),
    );
    result.changed += asked.length - versions.size;
    const calls = groups.map((group) => buildConfirmCall(group, balances.ledgerEpoch, versions));
    const replies = await runInParts(limitStore, calls);
    for (const [index, { kept }] of groups.entries()) {
      const outcome = readConfirmReply(replies[index] ?? []);
      if (outcome === null) result.left += kept.filter(({ account }) => versions.has(account)).length;
      result.confirmed += outcome?.confirmed ?? 0;
      result.changed += outcome?.changed ?? 0;
    }
  }
  return result;
}

/** Returns the data of these accounts in Redis by bucket, if there is anything to confirm. */
async function keptGroups(
  limitStore: Ports['limitStore'],
  accounts: readonly string[],
  result: ConfirmResult,
): Promise<KeptGroup[]> {
  const parts = [...groupBy(accounts, bucketOfAccount)].flatMap(([bucket, ofBucket]) =>
    Array.from({ length: Math.ceil(ofBucket.length / SCRIPT_ACCOUNTS) }, (_unused, index) => ({
      bucket,
      part: ofBucket.slice(index * SCRIPT_ACCOUNTS, (index + 1) * SCRIPT_ACCOUNTS),
    })),
  );
  const replies = await runInParts(
    limitStore,
    parts.map(({ bucket, part }) => buildSummaryCall(bucket, part)),
  );
  return parts.flatMap(({ bucket, part }, index) => {
    const group = readSummaryReply(bucket, part, replies[index] ?? []);
    if (group === null) result.closed.add(bucket);
    result.left += group?.large ?? 0;
    return group === null || group.kept.length === 0 ? [] : [group];
  });
}

/** Returns replies in the order of the calls. @throws AdmissionFault if one could not run */
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

/** Groups that fit into one request to each owner. */
function questionsOf(groups: readonly KeptGroup[]): KeptGroup[][] {
  const questions: KeptGroup[][] = [];
  let [bytes, accounts] = [Infinity, 0];
  for (const group of groups) {
    const more = group.kept.reduce((sum, one) => sum + bytesOf(one), 0);
    if (bytes + more > QUESTION_BYTES_MAX || accounts + group.kept.length > UNCHANGED_ACCOUNTS_MAX) {
      questions.push([]);
      [bytes, accounts] = [0, 0];
    }
    questions.at(-1)?.push(group);
    bytes += more;
    accounts += group.kept.length;
  }
  return questions;
}

function bytesOf({ account, summary, balances, records }: KeptAccount): number {
  const parts = balances.rows.length + records.keys.length + records.members.length;
  return account.length + summary.length + FRAME_BYTES * (parts + 1);
}
