import type { StatementView } from '@gateway/contracts/operator';
import { parseUsd } from '@gateway/metering';
import { groupBy } from '@gateway/service-kit/group-by';
import { type GeneratedCall, MONTH_BEGINS, MONTH_ENDS } from './month.js';

/** The months that a generated month extends into, in order. */
export const MONTHS = ['2026-09', '2026-10', '2026-11'] as const;
type Month = (typeof MONTHS)[number];

type Sums = Map<string, bigint>;

/** A credit, refund, chargeback or adjustment, and its second ledger account. */
interface MoneyEntry {
  readonly account: string;
  readonly kind: string;
  readonly amount: bigint;
  readonly counter: string;
  readonly at: number;
  readonly reason: string;
}

/** An independent second ledger that only adds amounts. It computes the content of each view. */
export class BookOfMonth {
  /** By ledger account. */
  readonly ledger: Sums = new Map();
  readonly calls = new Map<string, GeneratedCall>();
  readonly money = new Map<string, MoneyEntry>();

  call(call: GeneratedCall): void {
    this.calls.set(call.id, call);
    const { account, period, plan, wallet, costs } = call.expected;
    add(this.ledger, `wallet:${account}`, -wallet);
    add(this.ledger, 'revenue:wallet', wallet);
    if (period !== null) add(this.ledger, `plan:${account}:${period}`, -plan);
    add(this.ledger, 'revenue:plan', plan);
    for (const [provider, cost] of costs) {
      add(this.ledger, 'cost', -cost);
      add(this.ledger, `provider-cost:${provider}`, cost);
    }
  }

  entry(id: string, entry: MoneyEntry): void {
    this.money.set(id, entry);
    add(this.ledger, `wallet:${entry.account}`, entry.amount);
    add(this.ledger, entry.counter, -entry.amount);
  }

  /** By class of ledger account. */
  trialBalance(): Sums {
    const sums: Sums = new Map();
    for (const [ledgerAccount, amount] of this.ledger) add(sums, classOf(ledgerAccount), amount);
    return sums;
  }

  /** Returns `<account> <month>` of each statement. Voided calls create none. */
  months(): Set<string> {
    const calls = [...this.calls.values()].filter(
      ({ expected }) => expected.outcome === 'settled' || expected.wallet !== 0n,
    );
    const ofCalls = calls.map(({ at, expected }) => `${expected.account} ${monthAt(at)}`);
    return new Set([...ofCalls, ...[...this.money.values()].map(({ account, at }) => `${account} ${monthAt(at)}`)]);
  }

  /** Usage and its corrections are one movement here. */
  statement(account: string, month: Month) {
    const calls = [...this.calls.values()].filter(({ expected }) => expected.account === account);
    const usage = calls.map(({ at, expected }) => ({ at, kind: 'usage', amount: -expected.wallet }));
    const movements = [...usage, ...[...this.money.values()].filter((entry) => entry.account === account)];
    const sum = (of: (name: Month, kind: string) => boolean): bigint =>
      movements.reduce((total, { at, kind, amount }) => total + (of(monthAt(at), kind) ? amount : 0n), 0n);
    const kinds = ['adjustment', 'chargeback', 'credit', 'refund', 'usage'];
    const settled = calls.filter(({ at, expected }) => monthAt(at) === month && expected.outcome === 'settled');
    const by = (name: 'key' | 'member' | 'model') =>
      Object.fromEntries([...groupBy(settled, ({ expected }) => expected[name])].map(([id, of]) => [id, spendOf(of)]));
    return {
      opening: sum((name) => name < month),
      closing: sum((name) => name <= month),
      movements: Object.fromEntries(kinds.map((kind) => [kind, sum((name, of) => name === month && of === kind)])),
      usage: spendOf(settled),
      byKey: by('key'),
      byMember: by('member'),
      byModel: by('model'),
    };
  }
}

function monthAt(at: number): Month {
  return MONTHS[at < MONTH_BEGINS ? 0 : at < MONTH_ENDS ? 1 : 2];
}

function spendOf(calls: readonly GeneratedCall[]) {
  const sum = (name: 'charged' | 'plan' | 'wallet') => calls.reduce((total, one) => total + one.expected[name], 0n);
  return { calls: calls.length, charged: sum('charged'), plan: sum('plan'), wallet: sum('wallet') };
}

export function classOf(ledgerAccount: string): string {
  return /^(wallet|plan):/.exec(ledgerAccount)?.[1] ?? ledgerAccount;
}

export function add(sums: Sums, name: string, amount: bigint): void {
  sums.set(name, (sums.get(name) ?? 0n) + amount);
}

/** Omits names whose sum is zero. */
export function plain(sums: Sums): Record<string, bigint> {
  return Object.fromEntries([...sums].filter(([, sum]) => sum !== 0n).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Converts a statement of the ledger to the form of {@link BookOfMonth.statement}. */
export function readStatement(view: StatementView) {
  const sum = (kinds: readonly string[]) =>
    view.movements.reduce(
      (total, { kind, amountUsd }) => total + (kinds.includes(kind) ? parseUsd(amountUsd) : 0n),
      0n,
    );
  const spend = ({ calls, chargedUsd, planUsd, walletUsd }: StatementView['usage']) => {
    return { calls, charged: parseUsd(chargedUsd), plan: parseUsd(planUsd), wallet: parseUsd(walletUsd) };
  };
  return {
    opening: parseUsd(view.openingBalanceUsd),
    closing: parseUsd(view.closingBalanceUsd),
    movements: {
      ...Object.fromEntries(['adjustment', 'chargeback', 'credit', 'refund'].map((kind) => [kind, sum([kind])])),
      usage: sum(['usage', 'usage_correction']),
    },
    usage: spend(view.usage),
    byKey: Object.fromEntries(view.byKey.map((line) => [line.keyId, spend(line)])),
    byMember: Object.fromEntries(view.byMember.map((line) => [line.memberId, spend(line)])),
    byModel: Object.fromEntries(view.byModel.map((line) => [line.modelId, spend(line)])),
  };
}
