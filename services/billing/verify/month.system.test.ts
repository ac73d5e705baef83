import { isDeepStrictEqual } from 'node:util';
import type { LedgerEntryLine, UsageRecordLine, UsageRecordView } from '@gateway/contracts/operator';
import { formatUsd, parseUsd } from '@gateway/metering';
import { onPool } from '@gateway/postgres';
import { type TestDatabase } from '@gateway/testkit';
import { SeededRandom } from '@gateway/testkit/random';
import { testSeed } from '@gateway/testkit/seed';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { showStatement, showTrialBalance } from '../src/finance/handlers.js';
import { showUsageRecords } from '../src/records/show-records.js';
import { expectAccepted } from '../test/accepted.js';
import { runAudit } from '../test/audit.js';
import { ledgerVerbs, type LedgerCommandsForTests } from '../test/ledger-verbs.js';
import { type LedgerWorld, startLedgerWorld } from '../test/ledger-world.js';
import { readCsv } from '../test/read-csv.js';
import { add, BookOfMonth, classOf, MONTHS, plain, readStatement } from './book-of-month.js';
import {
  between,
  generateCall,
  type GeneratedAccount,
  type GeneratedCall,
  MONTH_BEGINS,
  MONTH_ENDS,
  PLAN_CHANGES,
} from './month.js';

const FULL_RUN_EVENTS = process.env['GATEWAY_VERIFY_MONTH_CALLS'];
const CALLS = Number(FULL_RUN_EVENTS ?? 5_000);
const SEED = testSeed();
const ACCOUNTS = Math.max(12, Math.round(CALLS / 250));
const BATCH_EVENTS = 100;
const LIMIT_MS = 240_000 + CALLS * 10;
const DAY = 86_400_000;

let world: LedgerWorld;
let ledger: TestDatabase;
let verbs: LedgerCommandsForTests;
const book = new BookOfMonth();
const took: Record<string, number> = {};
let accounts: GeneratedAccount[] = [];

beforeAll(async () => {
  console.log(`generated month: TEST_SEED=${SEED}`);
  world = await startLedgerWorld();
  ledger = await world.ledger();
  verbs = ledgerVerbs(ledger);
  const random = new SeededRandom(SEED);
  await timed('plans and credits', async () => {
    accounts = await makeAccounts(random);
    for (const { account } of accounts) await fund(account, random, 'credit', BigInt(between(random, 1, 10 ** 12)));
  });
  const calls = Array.from({ length: CALLS }, () => generateCall(random, random.pick(accounts)));
  await timed(`settling ${CALLS} calls`, () => settle(calls));
  await timed('refunds, chargebacks, adjustments', () => correct(random, calls));
}, LIMIT_MS);

afterAll(async () => {
  await world.stop();
  // For docs/verification.md.
  const figures = { seed: SEED, calls: CALLS, accounts: ACCOUNTS, entries: book.money.size, seconds: took };
  if (FULL_RUN_EVENTS !== undefined) process.stdout.write(`${JSON.stringify(figures)}\n`);
});

test(
  'the statements of every account and month equal the second ledger and add up',
  async () => {
    await timed('statements', async () => {
      for (const { account } of accounts) {
        for (const month of MONTHS) {
          const { statement } = expectAccepted(await showStatement(verbs.finance, { account, month }));
          const read = readStatement(statement);
          expectSame([{ account, month, ...read }], [{ account, month, ...book.statement(account, month) }]);
          const moved = Object.values(read.movements).reduce((sum, amount) => sum + amount, 0n);
          expect(read.opening + moved).toBe(read.closing);
          expect(read.movements['usage']).toBe(-read.usage.wallet);
          expect(read.usage.plan + read.usage.wallet).toBe(read.usage.charged);
        }
      }
    });
  },
  LIMIT_MS,
);

test('the trial balance equals the second ledger and is zero', async () => {
  await timed('trial balance', async () => {
    const { trialBalance } = expectAccepted(await showTrialBalance(verbs.finance, { asOf: null }, MONTH_ENDS));
    const shown = new Map(
      trialBalance.accounts.map(({ ledgerAccount, amountUsd }) => [ledgerAccount, parseUsd(amountUsd)]),
    );
    expect(plain(shown)).toEqual(plain(book.trialBalance()));
    expect(trialBalance.totalUsd).toBe('0.00');
  });
});

test(
  'the exported records equal the calls in both formats',
  async () => {
    await timed('export of usage records, JSON Lines', async () => {
      const lines = linesOf<UsageRecordLine>((await verbs.recordsFile()).text);
      expect(lines.map(({ requestId }) => requestId)).toEqual([...book.calls.keys()].sort());
      expectSame(
        lines.map(inputOfLine),
        lines.map(({ requestId }) => inputOfCall(requestId)),
      );
    });
    await timed('export of usage records, CSV', async () => {
      const rows = readCsv((await verbs.recordsFile({ format: 'csv' })).text);
      const lines = linesOf<UsageRecordLine>((await verbs.recordsFile()).text);
      expectSame(rows, lines.map(asCells));
    });
  },
  LIMIT_MS,
);

test(
  'the exported entries equal the ledger in both formats',
  async () => {
    await timed('export of ledger entries, both formats', async () => {
      const lines = linesOf<LedgerEntryLine>((await verbs.entriesFile()).text);
      const [ledgerAccounts, classes] = [new Map<string, bigint>(), new Map<string, bigint>()];
      for (const { ledgerAccount, amountUsd } of lines) {
        add(ledgerAccounts, ledgerAccount, parseUsd(amountUsd));
        add(classes, classOf(ledgerAccount), parseUsd(amountUsd));
      }
      expect(plain(ledgerAccounts)).toEqual(plain(book.ledger));
      expect(plain(classes)).toEqual(plain(book.trialBalance()));
      const money = new Map(lines.filter((line) => line.reference !== null).map((line) => [line.transactionId, line]));
      expect([...money].map(([id, { kind, reason, accountId }]) => [id, { account: accountId, kind, reason }])).toEqual(
        [...book.money]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([id, { account, kind, reason }]) => [id, { account, kind, reason }]),
      );
      expectSame(readCsv((await verbs.entriesFile({ format: 'csv' })).text), lines.map(asCells));
    });
  },
  LIMIT_MS,
);

test(
  "the list of an account's usage records equals its export",
  async () => {
    for (const { account } of accounts.slice(0, 12)) {
      const listed = (await allRecords(account)).map(
        (record) => `${record.requestId} ${record.chargedUsd} ${record.walletUsd}`,
      );
      const bounds = { account, from: MONTH_BEGINS, to: MONTH_ENDS };
      const exported = linesOf<UsageRecordLine>((await verbs.recordsFile(bounds)).text);
      expect(exported.map((line) => `${line.requestId} ${line.chargedUsd} ${line.walletUsd}`)).toEqual(
        listed.reverse(),
      );
    }
  },
  LIMIT_MS,
);

test(
  'the finance views are equal to the nano-USD',
  async () => {
    await timed("finance's views", async () => {
      const pool = ledger.poolOf('finance');
      const rows = await onPool(pool).query<Record<string, string>>(
        `SELECT account_id, month, opening_usd, credits_usd, refunds_usd, chargebacks_usd, adjustments_usd, usage_usd,
              closing_usd, calls::text, charged_usd, plan_usd, wallet_usd FROM finance.statements_v1`,
      );
      const usd = (row: Record<string, string>, name: string) => parseUsd(row[`${name}_usd`] as string);
      for (const row of rows) {
        const {
          byKey: _k,
          byMember: _m,
          byModel: _o,
          ...expected
        } = book.statement(row['account_id'] as string, row['month'] as (typeof MONTHS)[number]);
        expect({
          opening: usd(row, 'opening'),
          closing: usd(row, 'closing'),
          movements: {
            adjustment: usd(row, 'adjustments'),
            chargeback: usd(row, 'chargebacks'),
            credit: usd(row, 'credits'),
            refund: usd(row, 'refunds'),
            usage: usd(row, 'usage'),
          },
          usage: {
            calls: Number(row['calls']),
            charged: usd(row, 'charged'),
            plan: usd(row, 'plan'),
            wallet: usd(row, 'wallet'),
          },
        }).toEqual(expected);
      }
      expect(new Set(rows.map((row) => `${row['account_id']} ${row['month']}`))).toEqual(book.months());
      const [totals] = await onPool(pool).query<Record<string, string>>(
        `SELECT (SELECT sum(charged_usd) FROM finance.usage_records_v1)::text AS records,
              (SELECT sum(charged_usd) FROM finance.statement_lines_v1 WHERE line_of = 'key')::text AS lines,
              (SELECT sum(balance_usd) FROM finance.wallet_balances_v1)::text AS wallets,
              (SELECT sum(amount_usd) FROM finance.ledger_entries_v1 WHERE ledger_account LIKE 'wallet:%')::text AS entries,
              (SELECT sum(amount_usd) FROM finance.trial_balance_v1)::text AS total`,
      );
      const charged = [...book.calls.values()].reduce((sum, { expected }) => sum + expected.charged, 0n);
      const wallets = book.trialBalance().get('wallet') ?? 0n;
      expect(Object.fromEntries(Object.entries(totals ?? {}).map(([name, text]) => [name, parseUsd(text)]))).toEqual({
        records: charged,
        lines: charged,
        wallets,
        entries: wallets,
        total: 0n,
      });
    });
  },
  LIMIT_MS,
);

test(
  'the audit finds no difference',
  async () => {
    await timed('audit', async () => expect(await runAudit(ledger.pool)).toEqual([]));
  },
  LIMIT_MS,
);

/** Compares thousands of lines; the matchers of the test library would take seconds. */
function expectSame(found: readonly object[], expected: readonly object[]): void {
  expect(found.length).toBe(expected.length);
  const index = found.findIndex((one, at) => !isDeepStrictEqual(one, expected[at]));
  if (index !== -1) expect(found[index]).toEqual(expected[index]);
  expect(index).toBe(-1);
}

/** Returns all records of an account in the month, newest first. */
async function allRecords(account: string): Promise<UsageRecordView[]> {
  const records: UsageRecordView[] = [];
  let cursor: string | null = null;
  do {
    const question = { account, from: MONTH_BEGINS, to: MONTH_ENDS, cursor, limit: 200 };
    const page: { records: UsageRecordView[]; nextCursor: string | null } = expectAccepted(
      await showUsageRecords(verbs.records, question),
    );
    records.push(...page.records);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return records;
}

async function timed(name: string, work: () => Promise<void>): Promise<void> {
  const began = performance.now();
  await work();
  took[name] = (performance.now() - began) / 1_000;
}

/** Creates accounts; two of three have a plan, and another plan from the middle of the month on. */
async function makeAccounts(random: SeededRandom): Promise<GeneratedAccount[]> {
  const [first, second] = ['basic', 'pro'] as const;
  await verbs.plan(first, MONTH_BEGINS);
  await verbs.plan(second, MONTH_BEGINS);
  const made: GeneratedAccount[] = [];
  for (let index = 0; index < ACCOUNTS; index += 1) {
    const account = `account-${index}`;
    const begin = MONTH_BEGINS - 2 * DAY;
    const periods: [string, string] | null = random.chance(2 / 3)
      ? [
          await verbs.subscribe(account, first, begin, MONTH_ENDS + 2 * DAY, begin),
          await verbs.subscribe(account, second, PLAN_CHANGES, MONTH_ENDS + 2 * DAY, PLAN_CHANGES),
        ]
      : null;
    made.push({ account, periods });
  }
  return made;
}

/**
 * Settles the events in batches and moves late and repeated ones behind others. Half of the time
 * the events of a call keep their order.
 */
async function settle(calls: readonly GeneratedCall[]): Promise<void> {
  const mixed = new SeededRandom(SEED + 1);
  const placed = calls.flatMap(({ events }) => {
    const base = mixed.next();
    return events.map((event, index) => ({ event, at: mixed.chance(0.5) ? base + index / 1e9 : mixed.next() }));
  });
  const events = placed.sort((one, other) => one.at - other.at).map(({ event }) => event);
  for (let at = 0; at < events.length; at += BATCH_EVENTS) {
    const { deadLetters } = await verbs.settle(...events.slice(at, at + BATCH_EVENTS));
    expect(deadLetters).toEqual([]);
  }
  for (const call of calls) book.call(call);
}

/**
 * Adds refunds of calls and of credits, chargebacks and adjustments. Refunds above the limit must
 * be refused and change nothing.
 */
async function correct(random: SeededRandom, calls: readonly GeneratedCall[]): Promise<void> {
  for (const call of calls.filter(({ expected }) => expected.wallet > 1n && random.chance(0.03))) {
    const { account, wallet } = call.expected;
    const part = random.chance(0.5) ? wallet : wallet / 2n;
    await fund(account, random, 'refund', part, call.id);
    const more = await verbs.fund(
      account,
      entrySpec('refund', wallet - part + 1n, call.id, 'too much'),
      MONTH_ENDS - 1,
    );
    expect(more).toMatchObject({ refused: { code: 'state_conflict' } });
  }
  for (const [id, { account, amount }] of [...book.money].filter(([, { kind }]) => kind === 'credit')) {
    const [taken, back] = [BigInt(between(random, 1, 100)), BigInt(between(random, 1, 100))];
    if (random.chance(0.3)) await fund(account, random, 'refund', -minOf(amount, taken), id);
    if (random.chance(0.2)) await fund(account, random, 'chargeback', -amount, id);
    if (random.chance(0.3)) await fund(account, random, 'adjustment', random.chance(0.5) ? back : -back);
  }
}

async function fund(
  account: string,
  random: SeededRandom,
  kind: 'credit' | 'refund' | 'chargeback' | 'adjustment',
  amount: bigint,
  relatesTo: string | null = null,
): Promise<void> {
  const at = kind === 'credit' ? MONTH_BEGINS - between(random, 0, DAY) : MONTH_BEGINS + between(random, 0, 40 * DAY);
  const reason = random.pick(['paid', '=HYPERLINK("x")', '\'quoted\', "twice"', '-1', 'two\nlines', '@sum']);
  const { transaction } = expectAccepted(await verbs.fund(account, entrySpec(kind, amount, relatesTo, reason), at));
  const counter =
    kind === 'refund' && amount > 0n ? 'revenue:wallet' : kind === 'adjustment' ? 'adjustment' : 'funding';
  book.entry(transaction.id, { account, kind, amount, counter, at, reason });
}

let references = 0;

function entrySpec(
  kind: 'credit' | 'refund' | 'chargeback' | 'adjustment',
  amount: bigint,
  relatesTo: string | null,
  reason: string,
) {
  references += 1;
  return { kind, amountUsd: formatUsd(amount), reason, reference: `reference-${references}`, relatesTo };
}

function linesOf<T>(text: string): T[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as T);
}

/**
 * Converts a line to the cells of a CSV: numbers and flags become text, tokens and their kinds have
 * separate columns, attempts and units are JSON.
 */
function asCells(line: object): Record<string, string | null> {
  // Records without these values omit the last two members of their lines.
  const cells: Record<string, string | null> = 'tokens' in line ? { samplings: null, unpriced: null } : {};
  for (const [name, value] of Object.entries(line) as [string, unknown][]) {
    if (name === 'tokens') {
      for (const part of ['input', 'cachedInput', 'cacheWrite', 'cacheWrite1h', 'output'])
        cells[`${part}Tokens`] = value === null ? null : String((value as Record<string, number>)[part]);
    } else if (name === 'kinds') {
      const kinds = (value ?? {}) as Record<string, number>;
      for (const kind of ['audioInput', 'imageInput', 'audioOutput', 'imageOutput'])
        cells[`${kind}Tokens`] = kinds[kind] === undefined ? null : String(kinds[kind]);
    } else if (name === 'samplings' || name === 'unpriced') {
      cells[name] = JSON.stringify(value);
    } else if (name === 'units') {
      cells[name] = Object.keys(value as object).length === 0 ? null : JSON.stringify(value);
    } else if (name === 'attempts') cells[name] = JSON.stringify(value);
    else cells[name] = value === null ? null : String(value);
  }
  return cells;
}

function inputOfLine(line: UsageRecordLine) {
  const costs = new Map<string, bigint>();
  for (const { providerId, costUsd, costVersion } of line.attempts) {
    if (costUsd === null) continue;
    if (!/^c\d+$/.test(costVersion ?? '')) throw new Error(`cost version ${costVersion}`);
    add(costs, providerId, parseUsd(costUsd));
  }
  return {
    account: line.accountId,
    key: line.keyId,
    member: line.memberId,
    model: line.modelId,
    outcome: line.outcome,
    charged: parseUsd(line.chargedUsd),
    plan: parseUsd(line.planUsd),
    wallet: parseUsd(line.walletUsd),
    costs,
  };
}

function inputOfCall(id: string) {
  const { period: _period, ...input } = (book.calls.get(id) as GeneratedCall).expected;
  return input;
}

function minOf(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
