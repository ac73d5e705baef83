import type { AccountTerms, HoldFields, BalanceSnapshot, VersionedBalance } from '@gateway/contracts/messages';
import {
  SESSION_5H_MS,
  WALLET_ROW,
  allotmentRow,
  keyMonthRow,
  memberMonthRow,
  monthlyWindowRow,
  parseRowName,
  sessionWindowRow,
  splitFunding,
  weekStart,
  weeklyWindowRow,
} from '@gateway/metering';

/** The end of a call in the stream. Rank 2 comes from an edge, rank 1 from a sweep. */
export interface StreamedEvent {
  readonly id: string;
  readonly rank: 1 | 2;
  readonly hold: HoldFields;
  /** True if the call is charged. */
  readonly settled: boolean;
  readonly amountNanoUsd: number;
  readonly storedAt: number;
}

interface LedgerRecord {
  readonly rank: number;
  readonly effect: ReadonlyMap<string, number>;
}

/** Billing as admission sees it, for one account. Amounts in nano-USD, times in ms. */
export class Ledger {
  readonly rows = new Map<string, VersionedBalance>();
  terms: { value: AccountTerms; version: number };
  /** Events that are stored and not settled yet. */
  readonly stream: StreamedEvent[] = [];
  readonly #records = new Map<string, LedgerRecord>();
  #version = 1;
  down = false;

  constructor(
    private readonly account: string,
    terms: AccountTerms,
  ) {
    this.terms = { value: terms, version: 1 };
  }

  credit(amount: number): BalanceSnapshot {
    this.#write(new Map([[WALLET_ROW, amount]]));
    return this.#snapshot([WALLET_ROW], []);
  }

  changeTerms(value: AccountTerms): BalanceSnapshot {
    this.#version += 1;
    this.terms = { value, version: this.#version };
    return { account: this.account, rows: [], terms: this.terms, closed: [] };
  }

  /**
   * Settles one event of the stream (docs/protocol.md#r7). The snapshot contains the ID and every
   * balance that changed with it.
   */
  settle(event: StreamedEvent): BalanceSnapshot {
    const at = this.stream.indexOf(event);
    if (at >= 0) this.stream.splice(at, 1);
    const known = this.#records.get(event.id);
    const effect = event.settled ? effectOf(event) : new Map<string, number>();
    const before = known?.effect ?? new Map<string, number>();
    if (!known || event.rank > known.rank) {
      this.#records.set(event.id, { rank: event.rank, effect });
      this.#write(difference(effect, before));
    }
    return this.#snapshot([...new Set([...effect.keys(), ...before.keys()])], [event.id]);
  }

  /**
   * Returns null if billing has not settled all events from before the loss of the limit store
   * (docs/protocol.md#r11).
   */
  load(names: readonly string[], ids: readonly string[], afterLoss: boolean, now: number) {
    if (afterLoss && this.stream.length > 0) return null;
    const wanted = new Set([WALLET_ROW, ...names]);
    const rows = [...this.rows.values()].filter(({ name }) => wanted.has(name) || this.#mayRun(name, now));
    const written = new Set(rows.map(({ name }) => name));
    for (const name of wanted) {
      if (!written.has(name)) rows.push({ name, value: name === WALLET_ROW ? null : 0, version: 0 });
    }
    const closed = ids.filter((id) => this.#records.has(id));
    const snapshot: BalanceSnapshot = { account: this.account, rows, terms: this.terms, closed };
    return {
      version: this.#version,
      snapshot,
      caughtUpTo: Math.min(now, ...this.stream.map(({ storedAt }) => storedAt)),
    };
  }

  #mayRun(name: string, now: number): boolean {
    const row = parseRowName(name);
    const period = this.terms.value.subscription?.id;
    if (row?.kind === 'allotment') return row.subscriptionPeriodId === period;
    if (row?.kind !== 'window') return false;
    if (row.type === 'monthly') return row.subscriptionPeriodId === period;
    return row.type === 'weekly' ? row.start >= weekStart(now) : row.start >= now - SESSION_5H_MS;
  }

  #write(changes: ReadonlyMap<string, number>): void {
    if (changes.size === 0) return;
    this.#version += 1;
    for (const [name, change] of changes) {
      this.rows.set(name, { name, value: (this.rows.get(name)?.value ?? 0) + change, version: this.#version });
    }
  }

  #snapshot(names: readonly string[], closed: string[]): BalanceSnapshot {
    const rows = names.flatMap((name) => this.rows.get(name) ?? []);
    return { account: this.account, rows, closed };
  }
}

/**
 * Computes the changes of a settled call: wallet or plan, the months of key and member, the windows
 * and the allotment.
 */
function effectOf({ hold, amountNanoUsd }: StreamedEvent): Map<string, number> {
  const { planMaxNanoUsd, walletMaxNanoUsd, periods } = hold;
  const walletMax = walletMaxNanoUsd === null ? null : BigInt(walletMaxNanoUsd);
  const split = splitFunding(BigInt(amountNanoUsd), BigInt(planMaxNanoUsd), walletMax);
  const plan = Number(split.plan);
  const effect = new Map<string, number>();
  const add = (name: string, change: number) => change !== 0 && effect.set(name, (effect.get(name) ?? 0) + change);
  add(WALLET_ROW, -Number(split.wallet));
  add(keyMonthRow(hold.key, periods.month), amountNanoUsd);
  add(memberMonthRow(hold.member, periods.month), amountNanoUsd);
  const period = periods.subscription?.id ?? '';
  for (const { type, unit } of hold.windows) {
    const use = unit === 'usd' ? plan : 1;
    if (type === 'session_5h' && periods.session5h !== null) add(sessionWindowRow(unit, periods.session5h), use);
    if (type === 'weekly' && periods.weekly !== null) add(weeklyWindowRow(unit, periods.weekly), use);
    if (type === 'monthly') add(monthlyWindowRow(unit, period), use);
  }
  if (hold.allotment) add(allotmentRow(hold.allotment, hold.model, period), hold.allotment === 'usd' ? plan : 1);
  return effect;
}

function difference(after: ReadonlyMap<string, number>, before: ReadonlyMap<string, number>): Map<string, number> {
  const left = new Map(after);
  for (const [name, change] of before) left.set(name, (left.get(name) ?? 0) - change);
  return new Map([...left].filter(([, change]) => change !== 0));
}
