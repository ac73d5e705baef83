import { bucketOfAccount } from '@gateway/contracts/ids';
import type { ReceivedOf, admissionApply, billingBalanceSnapshots } from '@gateway/contracts/messages';
import { pause } from '@gateway/service-kit';
import { buildApplyCall } from './apply-script.js';
import type { AccountUpdate } from './apply-script.js';
import { findBucketKeys } from '../limit-store/key-rules.js';
import { storeRoutes } from '../records/find-key.js';
import { AdmissionFault } from '../ports.js';
import type { Ports } from '../ports.js';

type Update = ReceivedOf<typeof admissionApply>;

/** Pause before a snapshot that has passed an older one of its account is tried again. */
const EARLY_PAUSE_MS = 50;
/**
 * Pauses of a published snapshot. Together they are shorter than billing's time between two
 * batches, so after a lost snapshot the next one is written before another comes.
 */
export const EARLY_PAUSES_MAX = 4;

/**
 * Writes all changes that are newer, whether the account is loaded or not.
 * @throws AdmissionFault unless all changes were written
 */
export async function applyUpdate(
  ports: Pick<Ports, 'limitStore'>,
  update: Update,
  noticeLoss: (bucket: number) => void,
): Promise<void> {
  const { failure } = await applyAll(ports, groupByAccount(update), noticeLoss);
  if (failure !== null) throw failure;
  await storeRoutes(ports.limitStore, update.keys ?? []);
}

/**
 * Writes a balance snapshot. A later snapshot repeats anything that was not written, or the sweep
 * queries billing when the hold falls due. Snapshots that have passed an older one of their account
 * wait for it (docs/protocol.md#r8), and are written after `pausesMax` pauses even if it is lost.
 * @throws AdmissionFault unless all accounts were written
 */
export async function applyBalanceSnapshots(
  ports: Pick<Ports, 'limitStore' | 'clock'>,
  { ledgerEpoch, accounts }: ReceivedOf<typeof billingBalanceSnapshots>,
  noticeLoss: (bucket: number) => void,
  pausesMax: number,
): Promise<void> {
  const update = accounts.map((snapshot) => ({ account: snapshot.account, ledgerEpoch, snapshot }));
  let { early, failure } = await applyAll(ports, update, noticeLoss, pausesMax > 0);
  for (let pauses = 1; early.length > 0; pauses += 1) {
    await pause(EARLY_PAUSE_MS, undefined, ports.clock.timers);
    const again = await applyAll(ports, early, noticeLoss, pauses < pausesMax);
    early = again.early;
    failure ??= again.failure;
  }
  if (failure !== null) throw failure;
}

/** Returns the updates that have to wait, and the first failure. */
async function applyAll(
  { limitStore }: Pick<Ports, 'limitStore'>,
  update: readonly AccountUpdate[],
  noticeLoss: (bucket: number) => void,
  mayWait = false,
): Promise<{ early: AccountUpdate[]; failure: AdmissionFault | null }> {
  const early: AccountUpdate[] = [];
  let failure: AdmissionFault | null = null;
  const calls = update.map((one) =>
    buildApplyCall(findBucketKeys(bucketOfAccount(one.account)), { ...one, mayWait }, null),
  );
  const replies = await limitStore.run(calls);
  for (const [index, one] of update.entries()) {
    const reply = replies[index];
    if (reply instanceof AdmissionFault) failure ??= reply;
    else if (reply?.[0] === 'early') early.push(one);
    else if (reply?.[0] !== 'applied') {
      const isOutdated = reply?.[0] === 'outdated';
      if (!isOutdated) noticeLoss(bucketOfAccount(one.account));
      const reason = isOutdated ? 'ledger has a later epoch' : `bucket is ${reply?.[0]}`;
      failure ??= new AdmissionFault('admission_error', `account ${one.account} was not written: its ${reason}`);
    }
  }
  return { early, failure };
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
