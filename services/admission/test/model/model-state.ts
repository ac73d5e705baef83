import {
  type AccountRecord,
  type AccountTerms,
  type BalanceSnapshot,
  type HoldFields,
  type KeyRecord,
  type MemberRecord,
  TERMS_WITHOUT_PLAN,
} from '@gateway/contracts/messages';
import { SESSION_5H_MS, parseRowName, sessionWindowRow, splitFunding } from '@gateway/metering';
import type { WindowUnit } from '@gateway/metering';

export const GONE_MS = 90_000;

/** The hold of one call (docs/protocol.md#who-keeps-what). */
export interface ModelHold {
  readonly id: string;
  readonly fields: HoldFields;
  state: 'open' | 'expiring' | 'done';
  edge: string | null;
  slot: 'taken' | 'free' | 'taken back';
  lease: number;
  due: number;
  /** Time of the next query to the owner, after the first one. */
  queryAt: number;
  tries: number;
  /** Only for a done hold. */
  amount: number;
}

/**
 * The limit store's data of one account. It contains no counters: held sums are computed from the
 * holds each time.
 */
export class ModelState {
  /** Null: the limit store was lost. */
  epoch: string | null = null;
  caughtUp = false;
  /** Time of the load under this epoch, or the equivalent time set by drop-ended.ts. */
  loadedAt: number | null = null;
  /** The version of the account at this load. */
  loadedVersion = 0;
  readonly keysLoaded = new Set<string>();
  record: AccountRecord | null = null;
  terms: { value: AccountTerms; version: number } = { value: TERMS_WITHOUT_PLAN, version: 0 };
  readonly keys = new Map<string, KeyRecord>();
  readonly members = new Map<string, MemberRecord>();
  readonly rows = new Map<string, { value: number | null; version: number }>();
  /** Versions of deleted balances. No balance is created again with an older version. */
  readonly dropped = new Map<string, number>();
  readonly holds = new Map<string, ModelHold>();
  /** Ended IDs, with the time until which they are remembered. */
  readonly gone = new Map<string, number>();
  readonly minutes = new Map<string, number>();
  /** IDs with a place in a minute and no hold, with the time until which they may be sent again. */
  readonly counted = new Map<string, number>();
  /** Start of the session that was opened last. */
  session: number | null = null;
  /** Time of the latest admission. Time never goes back before it. */
  latest = 0;

  /**
   * Loses the limit store: its data too, or only its epoch (docs/protocol.md#r10 to
   * docs/protocol.md#r12).
   */
  lose(dataToo: boolean): void {
    this.epoch = null;
    this.caughtUp = false;
    this.loadedAt = null;
    this.keysLoaded.clear();
    this.rows.clear();
    this.dropped.clear();
    if (!dataToo) return;
    this.record = null;
    this.terms = { value: TERMS_WITHOUT_PLAN, version: 0 };
    for (const known of [this.keys, this.members, this.holds, this.gone, this.minutes, this.counted]) known.clear();
    this.session = null;
    this.latest = 0;
  }

  applyKey(key: KeyRecord): void {
    if (key.version > (this.keys.get(key.key)?.version ?? -1)) this.keys.set(key.key, key);
  }

  applyMember(member: MemberRecord): void {
    if (member.version > (this.members.get(member.member)?.version ?? -1)) this.members.set(member.member, member);
  }

  applyAccount(record: AccountRecord): void {
    if (record.version > (this.record?.version ?? -1)) this.record = record;
  }

  /**
   * Writes balances, then ends the closed IDs (docs/protocol.md#r8). A message from before the load
   * creates no balance.
   * @param isNewer the message is not the answer to a load
   */
  applyBalanceSnapshots({ rows, terms, closed }: BalanceSnapshot, now: number, isNewer: boolean): void {
    if (terms && terms.version > this.terms.version) this.terms = terms;
    const lateVersion = isNewer && this.loadedAt !== null ? this.loadedVersion : -1;
    for (const { name, value, version } of rows) {
      if (version <= (this.rows.get(name)?.version ?? lateVersion)) continue;
      this.rows.set(name, { value, version });
      const row = parseRowName(name);
      if (row?.kind === 'window' && row.type === 'session_5h' && (value ?? 0) > 0) this.seeSession(row.start, now);
    }
    for (const id of closed) {
      const hold = this.holds.get(id);
      if (hold) this.end(hold, now);
    }
  }

  /**
   * Deletes balances that the first complete load does not contain and that are not newer than it.
   * They may come from a late snapshot and must be loaded again.
   */
  dropUnnamed(rows: BalanceSnapshot['rows'], accountVersion: number): void {
    const named = new Set(rows.map(({ name }) => name));
    this.loadedVersion = accountVersion;
    for (const [name, { version }] of this.rows) {
      if (!named.has(name) && version <= this.loadedVersion) this.rows.delete(name);
    }
  }

  /** Opens a session because something counts in it, if it has not ended and is the latest. */
  seeSession(start: number, now: number): void {
    if (start + SESSION_5H_MS > Math.max(now, this.latest) && start > (this.session ?? 0)) this.session = start;
  }

  /** Ends a hold, which then counts as 0. A session without any charge counts as never opened. */
  end(hold: ModelHold, now: number): void {
    this.holds.delete(hold.id);
    const until = hold.fields.admittedAt + GONE_MS;
    if (now < until) this.gone.set(hold.id, until);
    const session = hold.fields.periods.session5h;
    if (session === null || session !== this.session) return;
    const used = (unit: WindowUnit) => this.rows.get(sessionWindowRow(unit, session))?.value ?? 0;
    const empty = !this.some(({ periods }) => periods.session5h === session);
    if (empty && used('usd') === 0 && used('requests') === 0) this.session = null;
  }

  slots(): number {
    return [...this.holds.values()].filter(({ slot }) => slot === 'taken').length;
  }

  heldWallet(): number {
    let sum = 0;
    for (const hold of this.holds.values()) sum += walletOf(hold);
    return sum;
  }

  /**
   * Maximum cost of the running calls of a key or a member in a month. Without a cap it may be too
   * large for an exact number.
   */
  heldMonth(of: 'key' | 'member', name: string, month: string): bigint {
    let sum = 0n;
    for (const hold of this.holds.values()) {
      if (hold.fields[of] === name && hold.fields.periods.month === month) sum += BigInt(costOf(hold));
    }
    return sum;
  }

  /** Number of calls that run, or have ended and are not settled yet. */
  running(counts: (fields: HoldFields) => boolean): number {
    let calls = 0;
    for (const { fields } of this.holds.values()) if (counts(fields)) calls += 1;
    return calls;
  }

  /** The most that plans may pay for running calls. A number could not represent it exactly. */
  planBears(): bigint {
    let sum = 0n;
    for (const hold of this.holds.values()) sum += BigInt(bearsOf(hold));
    return sum;
  }

  /** The amount that plans pay for ended calls that are not settled yet. */
  planOwes(counts: (fields: HoldFields) => boolean): number {
    let sum = 0;
    for (const hold of this.holds.values()) if (counts(hold.fields)) sum += planOf(hold);
    return sum;
  }

  some(counts: (fields: HoldFields) => boolean): boolean {
    return this.running(counts) > 0;
  }
}

export function costOf(hold: ModelHold): number {
  return hold.state === 'done' ? hold.amount : hold.fields.worstNanoUsd;
}

/** A worst case counts in no window, because that would lock out paying users. */
export function planOf(hold: ModelHold): number {
  return hold.state === 'done' ? hold.amount - walletOf(hold) : 0;
}

function bearsOf({ state, fields: { worstNanoUsd, walletMaxNanoUsd } }: ModelHold): number {
  return state === 'done' || walletMaxNanoUsd === null ? 0 : worstNanoUsd - walletMaxNanoUsd;
}

function walletOf(hold: ModelHold): number {
  const { planMaxNanoUsd, walletMaxNanoUsd } = hold.fields;
  if (hold.state !== 'done') return walletMaxNanoUsd ?? hold.fields.worstNanoUsd;
  const walletMax = walletMaxNanoUsd === null ? null : BigInt(walletMaxNanoUsd);
  return Number(splitFunding(BigInt(hold.amount), BigInt(planMaxNanoUsd), walletMax).wallet);
}

/** Sums of 0 are omitted. */
export function heldSums(state: ModelState): Record<string, string> {
  const sums = new Map<string, bigint>();
  const add = (name: string, value: number) => sums.set(name, (sums.get(name) ?? 0n) + BigInt(value));
  add('wallet', state.heldWallet());
  for (const hold of state.holds.values()) {
    const { key, member, periods } = hold.fields;
    add(`km:${key}:${periods.month}`, costOf(hold));
    add(`mm:${member}:${periods.month}`, costOf(hold));
    add('plan', bearsOf(hold));
    for (const name of rowsIn('requests', hold.fields)) add(name, 1);
    for (const name of rowsIn('usd', hold.fields)) add(name, planOf(hold));
    if (periods.session5h !== null) add(`session:${periods.session5h}`, 1);
  }
  return Object.fromEntries([...sums].flatMap(([name, sum]) => (sum === 0n ? [] : [[name, String(sum)]])));
}

/** Windows and allotment of a unit that count a call. */
export function rowsIn(limited: WindowUnit, fields: HoldFields): string[] {
  const { weekly, subscription, session5h } = fields.periods;
  const names = fields.windows.flatMap(({ type, unit }) => {
    const period = { session_5h: session5h, weekly, monthly: subscription?.id }[type];
    return unit === limited ? [`w:${type}:${unit}:${period}`] : [];
  });
  if (fields.allotment === limited) names.push(`al:${limited}:${fields.model}:${subscription?.id}`);
  return names;
}
