import type { Bus } from '@gateway/bus';
import { admissionApply, type AccountRecord, type KeyRecord, type MemberRecord } from '@gateway/contracts/messages';

const DRAIN_MS = 5_000;

/**
 * A simulated admission that accepts changes and keeps the newest version of each object, as
 * admission does.
 */
export interface FakeAdmission {
  /** Every version of every key in the order of arrival, without repetitions. */
  readonly keys: readonly KeyRecord[];
  account(id: string): AccountRecord | undefined;
  key(id: string): KeyRecord | undefined;
  member(id: string): MemberRecord | undefined;
  /** The different versions of an account, a key or a member, in the order of arrival. */
  versions(id: string): readonly number[];
  /** Disconnects from the bus, so that no server accepts a change. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/**
 * Starts a simulated admission.
 * @param connect opens a connection with admission's permissions
 */
export async function startFakeAdmission(connect: () => Promise<Bus>): Promise<FakeAdmission> {
  const keys: KeyRecord[] = [];
  const newest = { accounts: new Map<string, AccountRecord>(), keys: new Map<string, KeyRecord>() };
  const members = new Map<string, MemberRecord>();
  const versions = new Map<string, Set<number>>();
  const keep = <R extends { readonly version: number }>(records: Map<string, R>, id: string, record: R): void => {
    versions.set(id, (versions.get(id) ?? new Set()).add(record.version));
    keepNewer(records, id, record);
  };
  let bus: Bus | null = null;
  const fake: FakeAdmission = {
    keys,
    account: (id) => newest.accounts.get(id),
    key: (id) => newest.keys.get(id),
    member: (id) => members.get(id),
    versions: (id) => [...(versions.get(id) ?? [])],
    async stop() {
      await bus?.drain(DRAIN_MS);
      bus = null;
    },
    async start() {
      bus = await connect();
      bus.serve(admissionApply, (body) => {
        keys.push(...(body.keys ?? []).filter(({ key, version }) => versions.get(key)?.has(version) !== true));
        for (const record of body.accounts ?? []) keep(newest.accounts, record.account, record);
        for (const record of body.keys ?? []) keep(newest.keys, record.key, record);
        for (const record of body.members ?? []) keep(members, record.member, record);
        return Promise.resolve({ applied: true });
      });
    },
  };
  await fake.start();
  return fake;
}

function keepNewer<R extends { readonly version: number }>(records: Map<string, R>, id: string, record: R): void {
  if (record.version > (records.get(id)?.version ?? 0)) records.set(id, record);
}
