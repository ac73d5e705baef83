import type { AccountRecord, KeyRecord, MemberRecord } from '@gateway/contracts/messages';
import { NO_KEY_TERMS } from '@gateway/contracts/operator';

/** The service accounts as admission sees it: one account, its keys and members. */
export class Directory {
  record: AccountRecord;
  readonly keys: KeyRecord[] = [];
  readonly members: MemberRecord[] = [];
  readonly #keyOfDigest = new Map<string, string>();
  down = false;
  #digests = 0;

  constructor(
    readonly account: string,
    private readonly name: number,
  ) {
    this.record = { account, state: 'active', version: 1 };
    for (const member of ['one', 'two']) {
      this.members.push({ account, member: `${account}.${member}`, capNanoUsd: null, version: 1 });
    }
    this.#addKey('first', 'one', 'api');
    this.#addKey('second', 'two', 'api');
    this.#addKey('play', 'one', 'playground');
  }

  newDigest(): string {
    this.#digests += 1;
    return `${this.name.toString(16).padStart(12, '0')}${this.#digests.toString(16).padStart(52, '0')}`;
  }

  find(digests: readonly string[]): { account: string; key: string; digest: string } | null {
    const found = this.keys.find(({ digest }) => digests.includes(digest));
    return found ? { account: this.account, key: found.key, digest: found.digest } : null;
  }

  key(id: string): KeyRecord | null {
    return this.keys.find(({ key }) => key === id) ?? null;
  }

  member(id: string): MemberRecord | null {
    return this.members.find(({ member }) => member === id) ?? null;
  }

  changeKey(index: number, change: Partial<KeyRecord>): KeyRecord {
    const known = this.keys[index % this.keys.length];
    if (!known) throw new RangeError('an account has keys');
    const changed = { ...known, ...change, version: known.version + 1 };
    this.keys[this.keys.indexOf(known)] = changed;
    this.#keyOfDigest.set(changed.digest, changed.key);
    return changed;
  }

  /** Returns the first digest of a key. */
  firstDigest(key: string): string {
    return [...this.#keyOfDigest].find(([, known]) => known === key)?.[0] ?? '';
  }

  /** Whether this is or was a digest of the key. */
  everHad(key: string, digest: string): boolean {
    return this.#keyOfDigest.get(digest) === key;
  }

  changeMember(index: number, capNanoUsd: number | null): MemberRecord {
    const known = this.members[index % this.members.length];
    if (!known) throw new RangeError('an account has members');
    const changed = { ...known, capNanoUsd, version: known.version + 1 };
    this.members[this.members.indexOf(known)] = changed;
    return changed;
  }

  changeState(state: AccountRecord['state']): AccountRecord {
    this.record = { ...this.record, state, version: this.record.version + 1 };
    return this.record;
  }

  #addKey(name: string, member: string, kind: KeyRecord['kind']): void {
    this.keys.push({
      account: this.account,
      key: `${this.account}.${name}`,
      member: `${this.account}.${member}`,
      kind,
      digest: this.newDigest(),
      state: 'active',
      expiresAt: null,
      capNanoUsd: null,
      ...NO_KEY_TERMS,
      version: 1,
    });
    for (const { key, digest } of this.keys) this.#keyOfDigest.set(digest, key);
  }
}
