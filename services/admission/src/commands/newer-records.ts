import { bucketOfAccount } from '@gateway/contracts/ids';
import { UNCHANGED_PARTS_MAX } from '@gateway/contracts/messages';
import { buildReadCall, readKeptKey } from '../read/read-script.js';
import { findBucketKeys } from '../limit-store/key-rules.js';
import { type StoredVersions, readStoredVersions } from '../limit-store/stored-records-rules.js';
import { type Ports, runScript } from '../ports.js';

/** Accounts in one request to their owner. */
const BATCH_ACCOUNTS = 200;

/** A record whose version in Redis is newer than its owner's version. */
export interface NewerRecord {
  readonly kind: 'account' | 'key' | 'member';
  readonly id: string;
  readonly account: string;
  readonly kept: RecordVersion;
  /** Null: the owner has no such record. */
  readonly owned: RecordVersion | null;
}

export interface RecordVersion {
  readonly version: number;
  /**
   * The state in the record of an account or a key. Undefined if it is unknown, or for a member.
   */
  readonly state?: string | undefined;
}

type Stores = Pick<Ports, 'limitStore' | 'owners'>;

/** One account's records in Redis. */
interface KeptRecordSet {
  readonly records: StoredVersions;
  readonly state: string | undefined;
}

/**
 * Yields the changes of accounts, keys and members that were in effect and that their database has
 * lost, as far as Redis still has them (docs/protocol.md#r17). Each record is read from Redis
 * before it is read from its owner. The owner writes before it notifies admission, so an older
 * version there means a lost change. A member is compared by using one of the member's keys.
 * @throws Error when Redis or accounts does not respond
 */
export async function* findNewerRecords(stores: Stores): AsyncGenerator<NewerRecord, void> {
  const seen = new Set<string>();
  let cursor: string | null = null;
  while (cursor !== '0') {
    const step = await stores.limitStore.accounts(cursor ?? '0');
    cursor = step.cursor;
    const found = [...new Set(step.accounts)].filter((account) => !seen.has(account));
    for (let at = 0; at < found.length; at += BATCH_ACCOUNTS)
      for (const kept of await findChanged(stores, found.slice(at, at + BATCH_ACCOUNTS))) yield* compare(stores, kept);
    for (const account of found) seen.add(account);
  }
}

/** Returns the Redis records of the accounts whose owner has different ones. */
async function findChanged({ limitStore, owners }: Stores, accounts: readonly string[]): Promise<KeptRecordSet[]> {
  const all: KeptRecordSet[] = [];
  for (const account of accounts) {
    const keys = findBucketKeys(bucketOfAccount(account));
    const [fields] = await limitStore.dump(keys.accounts + account, keys.holds + account);
    // -1: admission has never received the account itself.
    const records = readStoredVersions(account, Number(fields['sv'] ?? -1), Object.entries(fields));
    all.push({ records, state: fields['s'] });
  }
  const mayBeAsked = ({ version, keys, members }: StoredVersions): boolean =>
    version >= 0 && Math.max(keys.length, members.length) <= UNCHANGED_PARTS_MAX;
  const asked = all.map(({ records }) => records).filter(mayBeAsked);
  const unchanged = new Set(asked.length === 0 ? [] : (await owners.unchangedRecords(asked)).accounts);
  return all.filter(({ records }) => !unchanged.has(records.account));
}

async function* compare(
  { limitStore, owners }: Stores,
  { records: { account, version, keys, members }, state }: KeptRecordSet,
): AsyncGenerator<NewerRecord, void> {
  const bucket = findBucketKeys(bucketOfAccount(account));
  const newer = (kind: NewerRecord['kind'], id: string, kept: RecordVersion, owned: RecordVersion | null) =>
    kept.version > (owned?.version ?? -1) ? [{ kind, id, account, kept, owned }] : [];

  const { account: owned } = await owners.loadAccount(account, null);
  yield* newer('account', account, { version, state }, owned);
  const byMember = new Map(members.map((member) => [member.id, member.version]));
  for (const { id, version } of keys) {
    const kept = readKeptKey(await runScript(limitStore, buildReadCall(bucket, account, id, [])), account, id);
    const { key, member } = await owners.loadAccount(account, id);
    yield* newer('key', id, { version, state: kept?.state }, key);
    const memberVersion = byMember.get(member?.member ?? '');
    if (member === null || memberVersion === undefined) continue;
    byMember.delete(member.member);
    yield* newer('member', member.member, { version: memberVersion }, { version: member.version });
  }
}
