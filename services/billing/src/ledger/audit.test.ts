import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeUuidV7 } from '@gateway/contracts/ids';
import type { UsageEvent } from '@gateway/contracts/messages';
import { inTransaction } from '@gateway/postgres';
import { duringTests } from '@gateway/testkit/during-tests';
import { runAudit } from '../../test/audit.js';
import {
  toExpiredEvent,
  toReceivedEvents,
  createHold,
  createPlanHold,
  createSettledEvent,
  START,
} from '../../test/events.js';
import { startLedger } from '../../test/ledger-world.js';
import { formatChain, readChainFile } from '../commands/chain-file.js';
import { settleBatch } from '../usage/settle-batch.js';
import { createSettlementStore } from '../usage/commit/settlement-store.js';
import { decideWalletEntry } from '../wallets/rules.js';
import { createWalletStore } from '../wallets/store.js';
import { createLedgerReader } from './audit-store.js';
import type { ChainHead } from './chain-rules.js';
import { createMonths } from './months.js';
import { verifyChain } from './verify-chain.js';
import { checkNewestBlocks } from './watch.js';

const ledger = duringTests(startLedger);
let call: UsageEvent;
let late: UsageEvent;
let payment: string;

/** Creates two accounts with plan and wallet charges, a credit and a correction. */
beforeEach(async () => {
  await ledger.empty();
  call = createSettledEvent(createPlanHold('a', 50, 30), 100);
  late = createSettledEvent(createHold('b'), 70);
  payment = await topUp('a', 1_000n);
  await settle(call, createSettledEvent(createHold('b'), 20), toExpiredEvent(late));
  await settle(late, createSettledEvent(createPlanHold('b', 50, 30), 40));
});

async function settle(...events: UsageEvent[]): Promise<void> {
  const store = createSettlementStore(ledger.pool);
  await settleBatch(store, createMonths(store), {
    received: toReceivedEvents(...events),
    deadLetters: [],
    applied: [],
  });
}

async function topUp(account: string, amountNanoUsd: bigint): Promise<string> {
  const entry = {
    account,
    amountNanoUsd,
    kind: 'credit' as const,
    reason: 'paid',
    relatesTo: null,
    actor: 'test',
    reference: makeUuidV7(START),
  };
  await createSettlementStore(ledger.pool).ensureMonth('2026-11');
  const transactionId = makeUuidV7(START);
  await createWalletStore(ledger.pool).addEntry({
    entry,
    origin: null,
    transactionId,
    decide: (input) => decideWalletEntry(entry, input),
  });
  return transactionId;
}

/** Damages the ledger with the privileges of a superuser. */
function damage(...statements: string[]): Promise<void> {
  return inTransaction(ledger.admin, async (tx) => {
    await tx.execute(`SET LOCAL gateway.ledger_repair = 'on'`);
    await tx.execute(`SET LOCAL session_replication_role = 'replica'`);
    for (const statement of statements) expect(await tx.execute(statement)).toBeGreaterThan(0);
  });
}

const checksOf = (faults: readonly string[]): string[] => [
  ...new Set(faults.map((fault) => fault.split(':')[0] ?? '')),
];

test('a clean ledger has no differences', async () => {
  expect(await runAudit(ledger.pool)).toEqual([]);
});

describe('the audit reports', () => {
  const forged = makeUuidV7(START);
  const kinds: [what: string, checks: string[], subject: () => string, ...statements: (() => string)[]][] = [
    [
      'an entry with another amount',
      ['trial balance', 'transaction', 'chain'],
      () => payment,
      () => `UPDATE command_entries SET amount_nano_usd = amount_nano_usd + 1
              WHERE transaction_id = '${payment}' AND ledger_account = 'funding'`,
    ],
    [
      'two entries with other amounts that balance',
      ['wallet entry', 'balance', 'chain'],
      () => payment,
      () => `UPDATE command_entries SET amount_nano_usd = amount_nano_usd * 2 WHERE transaction_id = '${payment}'`,
    ],
    [
      'an entry under another account',
      ['wallet entry', 'balance', 'chain'],
      () => payment,
      () => `UPDATE command_entries SET ledger_account = 'wallet:b'
              WHERE transaction_id = '${payment}' AND ledger_account = 'wallet:a'`,
    ],
    [
      'a transaction that is gone with its entries',
      ['wallet entry', 'balance', 'chained transactions', 'chain'],
      () => payment,
      () => `DELETE FROM command_entries WHERE transaction_id = '${payment}'`,
      () => `DELETE FROM command_transactions WHERE id = '${payment}'`,
    ],
    [
      'a forged transaction',
      ['wallet entry', 'balance', 'chained transactions', 'unchained transaction'],
      () => forged,
      () => `INSERT INTO command_transactions (id, kind, account_number)
             SELECT '${forged}', 'adjustment', number FROM accounts WHERE account = 'a'`,
      () => `INSERT INTO command_entries VALUES ('${forged}', 1, 'wallet:a', 5), ('${forged}', 2, 'adjustment', -5)`,
    ],
    [
      'a charge with another posting time',
      ['chain'],
      () => call.id,
      () => `UPDATE call_records SET recorded_at = recorded_at + interval '1 microsecond' WHERE id = '${call.id}'`,
    ],
    [
      'a correction that corrects nothing',
      ['rank', 'unchained transaction', 'chain'],
      () => late.id,
      () => `UPDATE call_records SET corrects = false WHERE corrects`,
    ],
    [
      // Covers i1
      'a wallet with another value',
      ['balance'],
      () => 'b wallet',
      () => `UPDATE balances SET value = value + 1 WHERE account = 'b' AND name = 'wallet'`,
    ],
    [
      'a window without its use',
      ['balance'],
      () => 'a w:weekly:requests',
      () => `DELETE FROM balances WHERE account = 'a' AND name LIKE 'w:weekly:requests:%'`,
    ],
    [
      'the month of an unused key',
      ['balance'],
      () => 'a km:nobody:2026-11',
      () => `INSERT INTO balances VALUES ('a', 'km:nobody:2026-11', 7, 1)`,
    ],
    [
      'a record with another charge',
      ['record', 'balance', 'hour of use', 'chain'],
      () => call.id,
      () => `UPDATE call_records SET charged_nano_usd = 101, plan_nano_usd = 70 WHERE id = '${call.id}'`,
    ],
    [
      'a record that is gone',
      ['balance', 'hour of use', 'chained transactions', 'chain'],
      () => call.id,
      () => `DELETE FROM call_records WHERE id = '${call.id}'`,
    ],
    ['a lower-rank record that is gone', ['rank'], () => late.id, () => `DELETE FROM call_records WHERE rank = 1`],
    [
      'an hour with one call too many',
      ['hour of use'],
      () => 'key-a',
      () => `UPDATE usage_hours SET calls = calls + 1 WHERE account = 'a'`,
    ],
    [
      'an hour with one wallet payment too many',
      ['hour of use'],
      () => 'key-a',
      () => `UPDATE usage_hours SET wallet_calls = wallet_calls + 1 WHERE account = 'a'`,
    ],
    [
      'another cost of an attempt',
      ['chain'],
      () => call.id,
      () => `UPDATE call_records SET cost_nano_usd = 1 WHERE id = '${call.id}'`,
    ],
    [
      'a wallet entry with another amount',
      ['wallet entry'],
      () => '1000',
      () => `UPDATE wallet_entries SET amount_nano_usd = 1001`,
    ],
    [
      'a lower account version',
      ['version'],
      () => 'a wallet',
      () => `UPDATE accounts SET version = 1 WHERE account = 'a'`,
    ],
    [
      'a chain without its last block',
      ['chained transactions', 'unchained transaction', 'chain'],
      () => 'the head has',
      () =>
        `DELETE FROM chain_blocks WHERE (chain, number) IN (SELECT chain, max(number) FROM chain_blocks GROUP BY chain)`,
    ],
    [
      'an alert above the use',
      ['alert'],
      () => 'a km:key-a:2026-11 at 50 percent',
      () => `INSERT INTO alerts (account, subject, period, threshold, limit_value, used_value, period_start, period_end)
             VALUES ('a', 'km:key-a', '2026-11', 50, 1000, 700, now(), now() + interval '1 day')`,
    ],
  ];

  test.each(kinds)('%s', async (_what, checks, subject, ...statements) => {
    await damage(...statements.map((statement) => statement()));
    const faults = await runAudit(ledger.pool);
    expect(checksOf(faults)).toEqual(checks);
    expect(faults.some((fault) => fault.includes(subject()))).toBe(true);
  });

  test('all damages together, each under its check', async () => {
    const apart = kinds.filter(([what]) => !what.includes('gone') && !what.includes('last block'));
    await damage(...apart.flatMap(([, , , ...statements]) => statements.map((statement) => statement())));
    expect(new Set(checksOf(await runAudit(ledger.pool)))).toEqual(new Set(apart.flatMap(([, checks]) => checks)));
  });
});

test('the check of the newest blocks finds faults there and counts dead letters', async () => {
  const poll = () => createLedgerReader(ledger.pool).snapshot(checkNewestBlocks);
  expect(await poll()).toEqual({ faults: [], deadLetters: 0 });
  await settle({ ...call, amountNanoUsd: 99 });
  await damage(
    `UPDATE command_entries SET amount_nano_usd = amount_nano_usd - 1
      WHERE transaction_id = '${payment}' AND ledger_account = 'funding'`,
  );
  expect(await poll()).toEqual({
    faults: [
      expect.stringContaining('do not sum to zero'),
      expect.stringContaining(`${payment}: the link does not match`),
    ],
    deadLetters: 1,
  });
});

describe('a chain export', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'gateway-chain-')), 'chain.jsonl');
  afterAll(() => rmSync(join(file, '..'), { recursive: true }));

  function lines(): Promise<string[]> {
    return createLedgerReader(ledger.pool).snapshot(async ({ chain }) => {
      const exported: string[] = [];
      for await (const line of formatChain(chain)) exported.push(line);
      return exported;
    });
  }

  async function brokenIn(text: readonly string[], anchors: readonly ChainHead[] = []): Promise<string[]> {
    writeFileSync(file, text.map((line) => `${line}\n`).join(''));
    const broken: string[] = [];
    await verifyChain(readChainFile(file), {
      anchors,
      broken: ({ transaction, problem }) => broken.push(transaction ?? problem),
    });
    return broken;
  }

  test('is valid on its own, and reports a changed transaction', async () => {
    const exported = await lines();
    expect(await brokenIn(exported)).toEqual([]);
    const changed = exported.map((line) => line.replace('"wallet:a","-30"', '"wallet:a","-29"'));
    expect(await brokenIn(changed)).toEqual([call.id]);
  });

  test('with recomputed links is rejected by a stored head', async () => {
    const heads = await createLedgerReader(ledger.pool).snapshot(({ chain }) => chain.heads());
    const anchors = heads.filter(({ number }) => number > 0n);
    expect(await brokenIn(await lines(), anchors)).toEqual([]);
    const other = anchors.map((anchor) => ({ ...anchor, link: '0'.repeat(64) }));
    expect(await brokenIn(await lines(), other)).toHaveLength(anchors.length);
  });
});
