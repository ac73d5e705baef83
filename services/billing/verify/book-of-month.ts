import { parseUsd } from '@gateway/metering';
import type { StatementView } from '@gateway/contracts/operator';
import { type GeneratedCall, MONTH_BEGINS, MONTH_ENDS } from './month.js';

/** The months that a generated month extends into, in order. */
export const MONTHS = ['2026-09', '2026-10', '2026-11'] as const;
type Month = (typeof MONTHS)[number];

export function monthAt(at: number): Month {
  return MONTHS[at < MONTH_BEGINS ? 0 : at < MONTH_ENDS ? 1 : 2];
}

type Sums = Map<string, bigint>;

export interface ExpectedSpend {
  calls: number;
  charged: bigint;
  plan: bigint;
  wallet: bigint;
}

/**
 * An independent second ledger that only adds amounts. It computes the expected content of each
 * view of the ledger. Keys are the names of sums; their parts are separated by spaces.
 */
export class BookOfMonth {
  /** By class of ledger account. */
  readonly trialBalance: Sums = new Map();
  /** By ledger account. */
  readonly ledger: Sums = new Map();
  /** By `<account> <month> <kind>`. */
  readonly movements: Sums = new Map();
  /** `<account> <month>` of each statement; voided calls create none. */
  readonly months = new Set<string>();
  /** By `<account> <month> <key | member | model | all> <id>`. */
  readonly spends = new Map<string, ExpectedSpend>();
  readonly calls = new Map<string, GeneratedCall>();
  readonly money = new Map<string, { account: string; kind: string; amount: bigint; reason: string }>();

  call(call: GeneratedCall): void {
    this.calls.set(call.id, call);
    const { account, period, outcome, plan, wallet, costs, charged } = call.expected;
    this.#post(`wallet:${account}`, -wallet);
    this.#post('revenue:wallet', wallet);
    if (period !== null) this.#post(`plan:${account}:${period}`, -plan);
    this.#post('revenue:plan', plan);
    for (const [provider, cost] of costs) {
      this.#post('cost', -cost);
      this.#post(`provider-cost:${provider}`, cost);
    }
    const month = monthAt(call.at);
    add(this.movements, `${account} ${month} usage`, -wallet);
    if (outcome === 'settled' || wallet !== 0n) this.months.add(`${account} ${month}`);
    if (outcome !== 'settled') return;
    const { key, member, model } = call.expected;
    for (const line of ['all ', `key ${key}`, `member ${member}`, `model ${model}`]) {
      const name = `${account} ${month} ${line}`;
      const sum = this.spends.get(name) ?? { calls: 0, charged: 0n, plan: 0n, wallet: 0n };
      this.spends.set(name, {
        calls: sum.calls + 1,
        charged: sum.charged + charged,
        plan: sum.plan + plan,
        wallet: sum.wallet + wallet,
      });
    }
  }

  entry(entry: {
    id: string;
    account: string;
    kind: string;
    amount: bigint;
    counter: string;
    at: number;
    reason: string;
  }) {
    const { id, account, kind, amount, counter, at, reason } = entry;
    this.money.set(id, { account, kind, amount, reason });
    this.#post(`wallet:${account}`, amount);
    this.#post(counter, -amount);
    add(this.movements, `${account} ${monthAt(at)} ${kind}`, amount);
    this.months.add(`${account} ${monthAt(at)}`);
  }

  /** Returns the wallet before a month begins, or at the end of the last month if `null`. */
  balance(account: string, before: Month | null): bigint {
    let sum = 0n;
    for (const [name, amount] of this.movements) {
      const [of, month] = name.split(' ');
      if (of === account && (before === null || (month as string) < before)) sum += amount;
    }
    return sum;
  }

  /**
   * Returns the expected statement of an account for a month. Its usage and its corrections are one
   * movement here.
   */
  statement(account: string, month: Month) {
    const next = MONTHS[MONTHS.indexOf(month) + 1] ?? null;
    const kinds = ['adjustment', 'chargeback', 'credit', 'refund', 'usage'];
    const of = (by: string) =>
      Object.fromEntries(
        [...this.spends].flatMap(([name, spend]) => {
          const prefix = `${account} ${month} ${by} `;
          return name.startsWith(prefix) ? [[name.slice(prefix.length), spend] as const] : [];
        }),
      );
    return {
      opening: this.balance(account, month),
      closing: this.balance(account, next),
      movements: Object.fromEntries(
        kinds.map((kind) => [kind, this.movements.get(`${account} ${month} ${kind}`) ?? 0n]),
      ),
      usage: of('all')[''] ?? { calls: 0, charged: 0n, plan: 0n, wallet: 0n },
      byKey: of('key'),
      byMember: of('member'),
      byModel: of('model'),
    };
  }

  #post(ledgerAccount: string, amount: bigint): void {
    add(this.ledger, ledgerAccount, amount);
    add(this.trialBalance, classOf(ledgerAccount), amount);
  }
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
  const spend = ({ calls, chargedUsd, planUsd, walletUsd }: StatementView['usage']): ExpectedSpend => ({
    calls,
    charged: parseUsd(chargedUsd),
    plan: parseUsd(planUsd),
    wallet: parseUsd(walletUsd),
  });
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
