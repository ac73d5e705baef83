import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import type { UsageEvent } from '@gateway/contracts/messages';
import type { TestDatabase } from '@gateway/testkit';
import { readLedgerValues, runAudit } from '../../test/audit.js';
import { toExpiredEvent, toReceivedEvents, createPlanHold, createSettledEvent, START } from '../../test/events.js';
import { type LedgerWorld, startLedgerWorld } from '../../test/ledger-world.js';
import { createMonths } from '../ledger/months.js';
import { decideWalletEntry, type WalletEntry } from '../wallets/rules.js';
import { createWalletStore } from '../wallets/store.js';
import { settleBatch } from './settle-batch.js';
import { createSettlementStore } from './commit/settlement-store.js';

let world: LedgerWorld;
let ledger: TestDatabase;

beforeAll(async () => {
  world = await startLedgerWorld();
  ledger = await world.ledger();
}, 60_000);
afterAll(() => world.stop());

/** One operation on a call; returns false if it was refused and has to be repeated. */
type Step = () => Promise<boolean>;

function stepsOf(account: string, event: UsageEvent): Record<string, Step> {
  const settleStore = createSettlementStore(ledger.pool);
  const walletStore = createWalletStore(ledger.pool);
  const months = createMonths(settleStore);
  const settle = (delivered: UsageEvent): Step => {
    return async () => {
      await settleBatch(settleStore, months, { received: toReceivedEvents(delivered), deadLetters: [], applied: [] });
      return true;
    };
  };
  const enter = (kind: WalletEntry['kind'], amountNanoUsd: bigint, relatesTo: string | null): Step => {
    const reference = `${kind} of ${account}`;
    const entry = { account, kind, amountNanoUsd, relatesTo, reason: 'test', actor: 'test', reference };
    return async () => {
      await months.has('2026-11');
      const { decision } = await walletStore.addEntry({
        entry,
        origin: null,
        transactionId: makeUuidV7(START),
        decide: (input) => decideWalletEntry(entry, input),
      });
      return decision.kind !== 'refused';
    };
  };
  return {
    settle: settle(event),
    expire: settle(toExpiredEvent(event)),
    'late settle': settle(event),
    refund: enter('refund', 12n, event.id),
    'top-up': enter('credit', 500n, null),
  };
}

// Covers i2
test('all orders of settle, expire, late settle, refund and credit give one result', async () => {
  const orders = permutations(['settle', 'expire', 'late settle', 'refund', 'top-up']);
  expect(orders).toHaveLength(120);
  const calls = orders.map((order, index) => {
    const account = `account-${index}`;
    return { account, order, event: createSettledEvent(createPlanHold(account, 50, 30), 100) };
  });
  for (const { account, order, event } of calls) await inOrder(stepsOf(account, event), order);

  const balances = await readLedgerValues(ledger.pool);
  for (const { account, order, event } of calls) {
    const of = Object.entries(balances).filter(
      ([name]) => name.split(/[ :]/).includes(account) || name.includes(event.id),
    );
    expect([order.join(', '), shapeOf(account, event, of)]).toEqual([order.join(', '), EXPECTED]);
  }
  expect(await runAudit(ledger.pool)).toEqual([]);
}, 240_000);

const EXPECTED = {
  ' km:key-:2026-11': '100',
  ' mm:member-:2026-11': '100',
  ' wallet': '482',
  ' al:requests:acme/one:sub-1': '1',
  ' w:monthly:usd:sub-1': '70',
  [` w:session_5h:usd:${START - 60_000}`]: '70',
  [` w:weekly:requests:${Date.UTC(2026, 10, 16)}`]: '1',
  [` w:weekly:usd:${Date.UTC(2026, 10, 16)}`]: '70',
  'plan::sub-1': '-70',
  'wallet:': '482',
  'record ': 'settled 100',
};

/**
 * Runs the steps in order. After each step it repeats an earlier one, and at the end it repeats the
 * refused ones, like their senders.
 */
async function inOrder(steps: Record<string, Step>, order: readonly string[]): Promise<void> {
  const refused: string[] = [];
  const take = async (name: string): Promise<void> => {
    if (!(await steps[name]?.())) refused.push(name);
  };
  for (const [index, name] of order.entries()) {
    await take(name);
    await take(order[(index * 3) % (index + 1)] as string);
  }
  for (const name of new Set(refused)) expect(await steps[name]?.()).toBe(true);
}

function shapeOf(account: string, event: UsageEvent, entries: [string, string][]): Record<string, string> {
  return Object.fromEntries(
    entries.map(([name, value]) => [name.replaceAll(account, '').replaceAll(event.id, ''), value]),
  );
}

function permutations(names: readonly string[]): string[][] {
  if (names.length <= 1) return [[...names]];
  return names.flatMap((first) => permutations(names.filter((name) => name !== first)).map((rest) => [first, ...rest]));
}
