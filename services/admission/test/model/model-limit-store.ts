import { timeOfUuidV7 } from '@gateway/contracts/ids';
import type { RefusalCode } from '@gateway/contracts/errors';
import type {
  AdmissionFaultCode,
  AdmitEntry,
  HeartbeatCall,
  HoldFields,
  KeyRecord,
  RefusalFacts,
  ReleaseEntry,
  BalanceSnapshot,
} from '@gateway/contracts/messages';
import { keyMonthRow, memberMonthRow } from '@gateway/metering';
import type { CatalogView } from '../../src/admit/catalog-view-rules.js';
import type { Directory } from './directory.js';
import type { Ledger } from './ledger.js';
import { dropEnded } from './drop-ended.js';
import { ModelDecision } from './model-decision.js';
import { ModelState } from './model-state.js';
import type { ModelHold } from './model-state.js';

/** The answer to a batch entry, as far as the protocol defines it. */
export type ModelAnswer =
  | { readonly kind: 'admitted'; readonly hold: HoldFields | null; readonly repeated: boolean }
  | { readonly kind: 'refused'; readonly code: RefusalCode; readonly facts: readonly RefusalFacts[] }
  | { readonly kind: 'opened' | 'gone' }
  | { readonly kind: 'fault'; readonly code: AdmissionFaultCode };

export type ModelEntry =
  | { readonly open: false; readonly body: AdmitEntry }
  | { readonly open: true; readonly body: Opening };
type Opening = Pick<AdmitEntry, 'id' | 'digests'>;

const ID_SKEW_MS = 30_000;
const FIRST_LEASE_MS = 10_000;
const LEASE_MS = 30_000;
export const EXPIRY_MS = 120_000;
const QUERY_AGAIN_MS = 5_000;
const QUERY_AGAIN_MAX_MS = 60_000;
const VOID_UNKNOWN_MS = 60_000;
const GONE_MS = 90_000;

class ModelFault extends Error {
  constructor(readonly code: AdmissionFaultCode) {
    super(code);
  }
}

/**
 * The limit store as the protocol describes it: docs/protocol.md#r2, docs/protocol.md#r4 to
 * docs/protocol.md#r6, docs/protocol.md#r8 to docs/protocol.md#r13. Callers set time and epoch.
 */
export class ModelLimitStore {
  readonly state = new ModelState();
  /** Versions of the ledger's balances at the account's load. No stored balance may be older. */
  ledgerAtLoad: ReadonlyMap<string, number> = new Map();
  /** Digests with a key reference in Redis and in each replica. */
  readonly #routes = { redis: new Set<string>(), replicas: [new Set<string>(), new Set<string>()] };

  constructor(
    private readonly catalog: CatalogView,
    private readonly directory: Directory,
    private readonly ledger: Ledger,
    public now: number,
  ) {}

  lose(dataToo: boolean): void {
    this.state.lose(dataToo);
    if (dataToo) this.#routes.redis.clear();
  }

  decide(replica: number, edge: string, entry: ModelEntry): ModelAnswer {
    try {
      return this.#decide(replica, edge, entry);
    } catch (error) {
      if (error instanceof ModelFault) return { kind: 'fault', code: error.code };
      throw error;
    }
  }

  /**
   * Returns true when the release has been processed. A release of unknown digests is repeated
   * while its ID may still be admitted.
   * @param processNow the process's estimate of the time
   */
  release(replica: number, release: ReleaseEntry, processNow = this.now): boolean {
    const { id } = release;
    if (release.blind && !this.#knownRoute(replica, release.digests)) {
      return processNow - timeOfUuidV7(id) > ID_SKEW_MS;
    }
    this.#end(release);
    return true;
  }

  /**
   * Applies docs/protocol.md#r6 to an ID without a hold. Otherwise ends the hold or sets it to the
   * cost of the call.
   */
  #end(release: ReleaseEntry): void {
    const { id } = release;
    if (this.state.gone.has(id)) return;
    const hold = this.state.holds.get(id);
    if (release.blind || release.outcome === 'void') {
      if (hold && hold.state !== 'done') this.state.end(hold, this.now);
      else if (!hold && this.now - timeOfUuidV7(id) < VOID_UNKNOWN_MS) this.state.gone.set(id, this.now + GONE_MS);
      return;
    }
    if (!hold && release.callEpoch === this.state.epoch) return;
    if (hold?.state === 'done') return;
    const due = this.now + QUERY_AGAIN_MS;
    this.#put({
      ...(hold ?? { id, fields: release.hold }),
      state: 'done',
      edge: null,
      slot: 'free',
      lease: 0,
      due,
      queryAt: due,
      tries: 0,
      amount: release.amountNanoUsd,
    });
  }

  /** Processes a message about a key: its record, and the key reference of its digest. */
  tellKey(record: KeyRecord): void {
    this.state.applyKey(record);
    this.#routes.redis.add(record.digest);
  }

  /**
   * docs/protocol.md#r5. While the limit store is restoring, a lapsed slot is taken again
   * (docs/protocol.md#r12). Returns the calls to end.
   */
  heartbeat(edge: string, calls: readonly HeartbeatCall[], restoring: boolean): string[] {
    const suspended = this.state.record?.state === 'suspended';
    const abort: string[] = [];
    const lost: HeartbeatCall[] = [];
    for (const call of calls) {
      const hold = this.state.holds.get(call.id);
      if (suspended || hold?.slot === 'taken back') abort.push(call.id);
      if (!hold && !this.state.gone.has(call.id) && call.callEpoch !== this.state.epoch) lost.push(call);
      if (hold?.state !== 'open') continue;
      if (restoring && hold.slot === 'free') hold.slot = 'taken';
      hold.due = this.now + EXPIRY_MS;
      hold.lease = hold.slot === 'taken' ? this.now + LEASE_MS : 0;
    }
    for (const { id, hold } of lost) this.#hold(id, edge, hold, LEASE_MS);
    return abort;
  }

  /** docs/protocol.md#r9. Returns the calls that will never be ended. */
  sweep(): ModelHold[] {
    for (const ended of [this.state.gone, this.state.counted])
      for (const [id, until] of ended) if (until <= this.now) ended.delete(id);
    const asked = [...this.state.holds.values()].filter((hold) => this.#falls(hold));
    for (const hold of asked) {
      hold.queryAt = this.now + Math.min(QUERY_AGAIN_MAX_MS, QUERY_AGAIN_MS * 2 ** hold.tries);
      hold.tries = Math.min(hold.tries + 1, 9);
    }
    if (asked.length === 0 || this.ledger.down) return [];
    const months = asked.flatMap(({ fields: { key, member, periods } }) => [
      keyMonthRow(key, periods.month),
      memberMonthRow(member, periods.month),
    ]);
    const answer = this.ledger.load(
      months,
      asked.map(({ id }) => id),
      false,
      this.now,
    );
    if (!answer) return [];
    this.state.applyBalanceSnapshots(answer.snapshot, this.now, false);
    const closed = new Set(answer.snapshot.closed);
    return asked.filter(({ id, due }) => !closed.has(id) && due < answer.caughtUpTo);
  }

  /** Takes a slot back for an operator, for good. Returns false if no call runs under this ID. */
  takeBack(id: string): boolean {
    const hold = this.state.holds.get(id);
    if (!hold || hold.state === 'done') return false;
    hold.slot = 'taken back';
    hold.lease = 0;
    return true;
  }

  /**
   * Finds the key of a reader and loads all data that it needs. Null: no key. `refused`: the state
   * of key or account refuses the read.
   */
  readUsage(
    replica: number,
    digest: string,
    refused: (key: KeyRecord) => boolean,
    rowsOf: () => readonly { name: string; start: number }[],
  ): KeyRecord | AdmissionFaultCode | null {
    try {
      const found = this.#findKey(replica, [digest]);
      if (!found) return null;
      for (;;) {
        const key = this.#recordOf(found);
        if (refused(key)) return key;
        const missing = rowsOf().filter((row) => this.#isMissing(row));
        if (missing.length === 0) return key;
        this.#load(
          null,
          missing.map(({ name }) => name),
        );
      }
    } catch (error) {
      if (!(error instanceof ModelFault)) throw error;
      return error.code === 'lookup_failed' ? error.code : 'usage_unavailable';
    }
  }

  applyBalanceSnapshots(snapshot: BalanceSnapshot): void {
    this.state.applyBalanceSnapshots(snapshot, this.now, true);
    if (snapshot.rows.length > 0) dropEnded(this.state, Math.max(this.now, this.state.latest));
  }

  /** Whether all data for a reader is present, so that the read changes nothing. */
  readsWithoutLoad(
    replica: number,
    digests: readonly string[],
    rows: readonly { name: string; start: number }[],
  ): boolean {
    const key = this.#keyOf(digests);
    if (!key || !this.#routes.replicas[replica]?.has(digests[0] ?? '')) return false;
    const { loadedAt } = this.state;
    if (loadedAt === null || !this.state.keysLoaded.has(key.key)) return false;
    return !rows.some((row) => this.#isMissing(row));
  }

  /** Whether the next decision with these digests needs only the limit store, at any replica. */
  isLoaded(digests: readonly string[]): boolean {
    const key = this.#keyOf(digests);
    return (
      digests.some((digest) => this.#routes.redis.has(digest)) &&
      key !== null &&
      this.state.loadedAt !== null &&
      this.state.keysLoaded.has(key.key)
    );
  }

  #decide(replica: number, edge: string, { open, body }: ModelEntry): ModelAnswer {
    const { id, digests } = body;
    const found = this.#findKey(replica, digests);
    if (!found) return { kind: 'refused', code: 'invalid_api_key', facts: [{}] };
    if (Math.abs(this.now - timeOfUuidV7(id)) > ID_SKEW_MS) throw new ModelFault('admission_error');
    const isUnbilled = !open && body.endpoint === '/v1/messages/count_tokens';
    if (!isUnbilled && this.state.gone.has(id)) return { kind: 'gone' };
    const hold = isUnbilled ? undefined : this.state.holds.get(id);
    if (hold)
      return !open && hold.state === 'open'
        ? { kind: 'admitted', hold: hold.fields, repeated: true }
        : { kind: 'gone' };
    const now = Math.max(this.now, this.state.latest);
    for (;;) {
      const key = this.#recordOf(found);
      const isCounted = this.state.counted.has(id);
      const deciding = new ModelDecision(this.state, this.catalog, now, {
        digests,
        key,
        admit: open ? null : body,
        isCounted,
      });
      const decision = deciding.decide();
      if (deciding.tookMinute && decision.kind !== 'admitted')
        this.state.counted.set(id, timeOfUuidV7(id) + ID_SKEW_MS + 1);
      if (decision.kind === 'missing') {
        this.#load(null, decision.rows);
        continue;
      }
      if (decision.kind === 'counted') return { kind: 'admitted', hold: null, repeated: false };
      if (decision.kind !== 'admitted') return decision;
      this.state.latest = now;
      this.#hold(id, edge, decision.hold, FIRST_LEASE_MS, now);
      return { kind: 'admitted', hold: decision.hold, repeated: false };
    }
  }

  /** Finds and loads the key of these digests. Null: no key. */
  #findKey(replica: number, digests: readonly string[]): string | null {
    const known = this.#knownRoute(replica, digests);
    if (!known && this.directory.down) throw new ModelFault('lookup_failed');
    const found = (known ? this.#keyOf(digests) : this.directory.find(digests))?.key;
    if (found === undefined) return null;
    const digest = digests.find(this.#isOf(found)) ?? '';
    if (!known) this.#routes.redis.add(digest);
    this.#routes.replicas[replica]?.add(digest);
    if (this.state.epoch === null) throw new ModelFault('admission_error');
    if (this.state.loadedAt === null || !this.state.keysLoaded.has(found)) this.#load(found, []);
    // A digest that the owner of keys has just returned is accepted, regardless of the key's record
    // in the limit store.
    if (!known && !digests.includes(this.#recordOf(found).digest)) this.#loadRecords(found);
    return found;
  }

  #recordOf(name: string): KeyRecord {
    const key = this.state.keys.get(name);
    if (!key) throw new Error('a loaded key is known');
    return key;
  }

  #isMissing({ name, start }: { name: string; start: number }): boolean {
    return !this.state.rows.has(name) && start <= (this.state.loadedAt ?? 0);
  }

  /** Whether the owner must be queried for a hold. Frees its slot if its lease has lapsed. */
  #falls(hold: ModelHold): boolean {
    if (hold.state !== 'open') return hold.queryAt <= this.now;
    if (hold.slot === 'taken' && hold.lease <= this.now) {
      hold.slot = 'free';
      hold.lease = 0;
    }
    if (hold.due > this.now) return false;
    if (hold.slot === 'taken') hold.slot = 'free';
    Object.assign(hold, { state: 'expiring', lease: 0 });
    return true;
  }

  #hold(id: string, edge: string, fields: HoldFields, leaseMs: number, now = this.now): void {
    const times = { lease: now + leaseMs, due: now + EXPIRY_MS, queryAt: now + EXPIRY_MS };
    this.#put({ id, fields, state: 'open', edge, slot: 'taken', ...times, tries: 0, amount: 0 });
  }

  #put(hold: ModelHold): void {
    // A call that was here has opened its session before. It opens none after time went back.
    const isNew = !this.state.holds.has(hold.id);
    this.state.holds.set(hold.id, hold);
    if (isNew && hold.fields.periods.session5h !== null) this.state.seeSession(hold.fields.periods.session5h, this.now);
  }

  /** docs/protocol.md#r11: loads account and key, or balances of a loaded account. */
  #load(key: string | null, rows: readonly string[]): void {
    const wantsAccount = this.state.loadedAt === null;
    const wantsBalances = wantsAccount || rows.length > 0;
    if (key !== null && this.directory.down) throw new ModelFault('lookup_failed');
    if (wantsBalances && this.ledger.down) throw new ModelFault('admission_error');
    const answer = wantsBalances ? this.ledger.load(rows, [], !this.state.caughtUp, this.now) : null;
    if (wantsBalances && !answer) throw new ModelFault('admission_error');
    if (key !== null) this.#loadRecords(key);
    if (answer) {
      if (wantsAccount) {
        this.state.dropUnnamed(answer.snapshot.rows, answer.version);
        this.ledgerAtLoad = new Map([...this.ledger.rows.values()].map((row) => [row.name, row.version]));
      }
      this.state.applyBalanceSnapshots(answer.snapshot, this.now, false);
      this.state.caughtUp = true;
    }
    if (wantsAccount) this.state.loadedAt = this.now;
  }

  #loadRecords(name: string): void {
    if (this.directory.down) throw new ModelFault('lookup_failed');
    const key = this.directory.key(name);
    const member = key && this.directory.member(key.member);
    if (!key || !member) throw new Error('accounts knows its keys');
    this.state.applyAccount(this.directory.record);
    this.state.applyKey(key);
    this.state.applyMember(member);
    this.state.keysLoaded.add(name);
  }

  #knownRoute(replica: number, digests: readonly string[]): boolean {
    const own = this.#routes.replicas[replica];
    const found = digests.find((digest) => own?.has(digest) || this.#routes.redis.has(digest));
    if (found !== undefined) own?.add(found);
    return found !== undefined;
  }

  /** Finds the key that has or had one of the digests. */
  #keyOf(digests: readonly string[]): KeyRecord | null {
    return this.directory.keys.find(({ key }) => digests.some(this.#isOf(key))) ?? null;
  }

  #isOf(key: string): (digest: string) => boolean {
    return (digest) => this.directory.everHad(key, digest);
  }
}
