import type { Owners } from '@gateway/admission/ports.js';
import { digestOfSecret, SECRET_BODY_CHARS, secretFrom } from '@gateway/contracts/ids';
import type { AccountRecord, KeyRecord } from '@gateway/contracts/messages';
import { NO_KEY_TERMS } from '@gateway/contracts/operator';
import { checkInForce, type FieldVersion } from '../check/in-force.js';
import { Host } from '../time/host.js';
import { requestAny, type RunParts } from './run-parts.js';

/** The pepper of all runs. */
export const PEPPER = 'pepper-of-the-simulation-0123456789';
/** Members do not change. */
const MEMBER_VERSION = 1;
const APPLY_MS = 2_000;
const REPEAT_MS = 500;

export interface OwnedKey {
  readonly secret: string;
  readonly record: KeyRecord;
}

type Change = { readonly accounts: AccountRecord[] } | { readonly keys: KeyRecord[] };

/** The accounts service. Repeats each change until admission has confirmed it. */
export class AccountsHost {
  readonly host = new Host('accounts');
  readonly records = new Map<string, AccountRecord>();
  readonly keys = new Map<string, OwnedKey[]>();
  #secrets = 0;
  /** Number of changes that admission has not confirmed. */
  waiting = 0;

  constructor(private readonly world: () => RunParts) {}

  add(account: string, caps: readonly (number | null)[]): void {
    this.records.set(account, { account, state: 'active', version: 1 });
    const owned = caps.map((capNanoUsd, index) => {
      const secret = this.#newSecret();
      const record: KeyRecord = {
        account,
        key: `${account}.key${index}`,
        member: `${account}.member`,
        kind: 'api',
        digest: digestOfSecret(secret, PEPPER),
        state: 'active',
        expiresAt: null,
        capNanoUsd,
        ...NO_KEY_TERMS,
        version: 1,
      };
      return { secret, record };
    });
    this.keys.set(account, owned);
  }

  find(digests: readonly string[]): Awaited<ReturnType<Owners['find']>> {
    for (const owned of this.keys.values()) {
      const found = owned.find(({ record }) => digests.includes(record.digest));
      if (found) return { account: found.record.account, key: found.record.key, digest: found.record.digest };
    }
    return null;
  }

  load(account: string, key: string | null): Awaited<ReturnType<Owners['loadAccount']>> {
    const record = this.keys.get(account)?.find((owned) => owned.record.key === key)?.record ?? null;
    const member = record && { account, member: record.member, capNanoUsd: null, version: MEMBER_VERSION };
    return { account: this.records.get(account) ?? null, key: record, member };
  }

  /** Returns the accounts whose versions match the given ones. */
  unchanged(asked: Parameters<Owners['unchangedRecords']>[0]): string[] {
    const matches = ({ account, version, keys, members }: (typeof asked)[number]): boolean => {
      const versions = new Map(this.keys.get(account)?.map(({ record }) => [record.key, record.version]));
      return (
        this.records.get(account)?.version === version &&
        keys.every((key) => versions.get(key.id) === key.version) &&
        members.every((member) => member.version === MEMBER_VERSION)
      );
    };
    return asked.filter(matches).map(({ account }) => account);
  }

  rotate(account: string, index: number): void {
    const owned = this.keys.get(account);
    const known = owned?.[index];
    if (owned === undefined || known === undefined) return;
    const secret = this.#newSecret();
    const record = { ...known.record, digest: digestOfSecret(secret, PEPPER), version: known.record.version + 1 };
    owned[index] = { secret, record };
    this.#tell({ keys: [record] }, account, [`k:${record.key}`, record.version]);
  }

  setState(account: string, state: AccountRecord['state']): void {
    const known = this.records.get(account);
    if (known === undefined || known.state === state) return;
    const record = { ...known, state, version: known.version + 1 };
    this.records.set(account, record);
    this.#tell({ accounts: [record] }, account, ['sv', record.version]);
  }

  /** Sends a change to admission and repeats it until it is confirmed, like the outbox. */
  #tell(change: Change, account: string, version: FieldVersion): void {
    this.waiting += 1;
    const tell = (): void => {
      const world = this.world();
      requestAny(world, this.host, world.admissions, APPLY_MS, ({ admission }) => admission.apply(change)).then(
        () => {
          this.waiting -= 1;
          checkInForce(world, account, [version]);
        },
        () => void world.time.in(this.host, REPEAT_MS, tell),
      );
    };
    this.world().time.in(this.host, 0, tell);
  }

  #newSecret(): string {
    this.#secrets += 1;
    return secretFrom('mgw_live_', this.#secrets.toString(16).padStart(SECRET_BODY_CHARS, '0'));
  }
}
