import { bucketOfAccount } from '@gateway/contracts/ids';
import type { ReceivedOf, admissionApply, billingBalanceSnapshots } from '@gateway/contracts/messages';
import { applyCall } from '../domain/apply-script.js';
import type { AccountNews } from '../domain/apply-script.js';
import { bucketKeys } from '../domain/gate-keys.js';
import { tellRoutes } from '../load/find-route.js';
import { AdmissionFault } from '../ports.js';
import type { Ports } from '../ports.js';

type News = ReceivedOf<typeof admissionApply>;

/** Writes what changed, loaded or not, if it is newer. @throws AdmissionFault unless all of it was written */
export async function applyNews(
  ports: Pick<Ports, 'limitStore'>,
  news: News,
  noticeLoss: (bucket: number) => void,
): Promise<void> {
  await applyAll(ports, newsByAccount(news), noticeLoss);
  await tellRoutes(ports.gate, news.keys ?? []);
}

/** Writes a standing. What is not written is repeated by a later standing, or asked for when its hold falls due. */
export async function applyStanding(
  ports: Pick<Ports, 'limitStore'>,
  { incarnation, accounts }: ReceivedOf<typeof billingBalanceSnapshots>,
  noticeLoss: (bucket: number) => void,
): Promise<void> {
  const news = accounts.map((standing) => ({ account: standing.account, incarnation, standing }));
  await applyAll(ports, news, noticeLoss);
}

async function applyAll(
  { gate }: Pick<Ports, 'limitStore'>,
  news: readonly AccountNews[],
  noticeLoss: (bucket: number) => void,
): Promise<void> {
  const calls = news.map((one) => applyCall(bucketKeys(bucketOfAccount(one.account)), one, null));
  const replies = await gate.run(calls);
  for (const [index, reply] of replies.entries()) {
    if (reply instanceof AdmissionFault) throw reply;
    if (reply[0] === 'applied') continue;
    const account = news[index]?.account ?? '';
    noticeLoss(bucketOfAccount(account));
    throw new AdmissionFault('admission_error', `account ${account} was not written: its bucket is ${reply[0]}`);
  }
}

/** One script per account, in the order in which the accounts are named. */
function newsByAccount({ standing, accounts = [], keys = [], members = [] }: News): AccountNews[] {
  const byAccount = new Map<string, { -readonly [K in keyof AccountNews]: AccountNews[K] }>();
  const of = (account: string) => {
    const known = byAccount.get(account);
    if (known) return known;
    const made = { account };
    byAccount.set(account, made);
    return made as { -readonly [K in keyof AccountNews]: AccountNews[K] };
  };
  for (const one of standing?.accounts ?? []) {
    const entry = of(one.account);
    if (standing) entry.incarnation = standing.incarnation;
    entry.standing = one;
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
