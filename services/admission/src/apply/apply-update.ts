import { bucketOfAccount } from '@gateway/contracts/ids';
import type { ReceivedOf, admissionApply, billingBalanceSnapshots } from '@gateway/contracts/messages';
import { buildApplyCall } from './apply-script.js';
import type { AccountUpdate } from './apply-script.js';
import { findBucketKeys } from '../limit-store/key-rules.js';
import { storeRoutes } from '../records/find-key.js';
import { AdmissionFault } from '../ports.js';
import type { Ports } from '../ports.js';

type Update = ReceivedOf<typeof admissionApply>;

/**
 * Writes all changes that are newer, whether the account is loaded or not.
 * @throws AdmissionFault unless all changes were written
 */
export async function applyUpdate(
  ports: Pick<Ports, 'limitStore'>,
  update: Update,
  noticeLoss: (bucket: number) => void,
): Promise<void> {
  await applyAll(ports, groupByAccount(update), noticeLoss);
  await storeRoutes(ports.limitStore, update.keys ?? []);
}

/**
 * Writes a balance snapshot. A later snapshot repeats anything that was not written, or the sweep
 * queries billing when the hold falls due.
 */
export async function applyBalanceSnapshots(
  ports: Pick<Ports, 'limitStore'>,
  { ledgerEpoch, accounts }: ReceivedOf<typeof billingBalanceSnapshots>,
  noticeLoss: (bucket: number) => void,
): Promise<void> {
  const update = accounts.map((snapshot) => ({ account: snapshot.account, ledgerEpoch, snapshot }));
  await applyAll(ports, update, noticeLoss);
}

async function applyAll(
  { limitStore }: Pick<Ports, 'limitStore'>,
  update: readonly AccountUpdate[],
  noticeLoss: (bucket: number) => void,
): Promise<void> {
  const calls = update.map((one) => buildApplyCall(findBucketKeys(bucketOfAccount(one.account)), one, null));
  const replies = await limitStore.run(calls);
  for (const [index, reply] of replies.entries()) {
    if (reply instanceof AdmissionFault) throw reply;
    if (reply[0] === 'applied') continue;
    const account = update[index]?.account ?? '';
    if (reply[0] === 'outdated') {
      throw new AdmissionFault('admission_error', `account ${account} was not written: its ledger has a later epoch`);
    }
    noticeLoss(bucketOfAccount(account));
    throw new AdmissionFault('admission_error', `account ${account} was not written: its bucket is ${reply[0]}`);
  }
}

/** Returns one update per account, in the order of the accounts in the message. */
function groupByAccount({ snapshots, accounts = [], keys = [], members = [] }: Update): AccountUpdate[] {
  const byAccount = new Map<string, { -readonly [K in keyof AccountUpdate]: AccountUpdate[K] }>();
  const of = (account: string) => {
    const known = byAccount.get(account);
    if (known) return known;
    const made = { account };
    byAccount.set(account, made);
    return made as { -readonly [K in keyof AccountUpdate]: AccountUpdate[K] };
  };
  for (const one of snapshots?.accounts ?? []) {
    const entry = of(one.account);
    if (snapshots) entry.ledgerEpoch = snapshots.ledgerEpoch;
    entry.snapshot = one;
  }
  for (const record of accounts) of(record.account).record = record;
  for (const key of keys) {
    const entry = of(key.account);
    entry.keyRecords = [...(entry.keyRecords ?? []), key];
  }
  for (const member of members) {
    const entry = of(member.account);
    entry.members = [...(entry.members ?? []), member];
  }
  return [...byAccount.values()];
}
