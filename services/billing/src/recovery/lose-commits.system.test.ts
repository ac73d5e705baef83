import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Bus } from '@gateway/bus';
import { makeUuidV7 } from '@gateway/contracts/ids';
import {
  admissionApply,
  billingAddWalletEntry,
  billingBalanceSnapshots,
  billingLoad,
  type ReceivedOf,
  type UsageEvent,
  usageEvents,
} from '@gateway/contracts/messages';
import { systemClock } from '@gateway/service-kit';
import { recordingLog, until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { readLedgerValues, runAudit } from '../../test/audit.js';
import { startBillingWorld } from '../../test/billing-world.js';
import { createHold, packMessage, createSettledEvent } from '../../test/events.js';
import { copyLedger } from '../../test/ledger-copy.js';
import { restoreLedger } from '../commands/restore-ledger.js';
import { readLedgerState } from '../ledger/store.js';
import { createRestoreStore } from '../stream/progress-store.js';
import { AUTHOR } from '../../test/ledger-verbs.js';

const world = duringTests(startBillingWorld);
type Replica = Awaited<ReturnType<typeof world.start>>;

let edge: Bus;
let admission: Bus;
let dashboard: Bus;
let replica: Replica;
const closed = new Set<string>();
const applied: ReceivedOf<typeof admissionApply>[] = [];
const told: string[] = [];

beforeAll(async () => {
  [edge, admission, dashboard] = await Promise.all([
    world.connect('edge-proxy'),
    world.connect('admission'),
    world.connect('dashboard'),
  ]);
  admission.subscribe(billingBalanceSnapshots, ({ ledgerEpoch, accounts }) => {
    told.push(ledgerEpoch);
    for (const one of accounts) for (const id of one.closed) closed.add(id);
  });
  admission.serve(admissionApply, async (body) => {
    applied.push(body);
    return { applied: true as const };
  });
  await start();
}, 60_000);

beforeEach(() => {
  applied.length = 0;
  told.length = 0;
});

let log = recordingLog();
async function start(): Promise<void> {
  log = recordingLog();
  replica = await world.start('one', systemClock, { log });
}

/** Settles calls of three accounts, one per message, and waits for their acknowledgement. */
async function settleCalls(count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, index) =>
    createSettledEvent(createHold(`account-${index % 3}`), 100 + index),
  );
  const store = (event: UsageEvent): Promise<boolean> =>
    edge.store(usageEvents, { group: 0 }, packMessage([event])).then(
      () => true,
      () => false,
    );
  // Repeats like an edge; an event is settled once.
  for (const event of events) await until('an event is stored', () => store(event));
  await until('every call is settled', () => events.every(({ id }) => closed.has(id)));
  await isAcknowledged();
}

/** Waits until all stored messages are acknowledged. */
async function isAcknowledged(): Promise<void> {
  const billing = await world.connect('billing');
  const { consumers } = await state();
  await until('all messages are acknowledged', async () => {
    const { lastSequence } = await billing.streamState('USAGE');
    return (await billing.ackFloor('USAGE', `billing-0-${consumers}`)) >= lastSequence;
  });
}

const state = () => readLedgerState(world.ledger.pool);
const balances = () => readLedgerValues(world.ledger.pool);
const load = (account: string) => admission.request(billingLoad, { account, names: [], ids: [], afterLoss: false });
const loads = async (account: string): Promise<boolean> =>
  load(account).then(
    () => true,
    () => false,
  );
const credit = (amountUsd: string) =>
  dashboard.request(billingAddWalletEntry, {
    account: 'account-0',
    spec: { amountUsd, kind: 'credit', reason: 'paid', reference: makeUuidV7(Date.now()) },
    author: AUTHOR,
  });

/** Restarts billing after its server has returned, or after another one has replaced it. */
async function restartOn(promote: () => Promise<void>, beside: () => Promise<void> = async () => undefined) {
  await replica.stop();
  await promote();
  await beside();
  await start();
}

test('a restarted billing process continues under the same epoch', async () => {
  await settleCalls(6);
  const before = await state();
  await restartOn(async () => undefined);
  await until('loads are answered', () => loads('account-0'));
  expect(await state()).toEqual(before);
});

// Covers r17; PostgreSQL is promoted, with lost commits
test('settles lost usage again under a new epoch before it answers loads', async () => {
  await settleCalls(6);
  const promote = await copyLedger(world.ledger.admin);
  await settleCalls(30);
  const [before, whole] = [await state(), await balances()];
  told.length = 0;
  await restartOn(promote);
  await until('loads are answered', () => loads('account-0'));
  // The stream would not deliver the acknowledged messages again.
  expect(await balances()).toEqual(whole);
  expect(await runAudit(world.ledger.pool)).toEqual([]);
  const after = await state();
  expect(after.ledgerEpoch).not.toBe(before.ledgerEpoch);
  expect(after.consumers).toBe(before.consumers);
  expect((await load('account-0')).ledgerEpoch).toBe(after.ledgerEpoch);
  expect(log.lines.map(({ text }) => text)).toContain('the usage of lost commits was settled again from the stream');
  // Admission gets a new epoch for every account, and later snapshots have the new epoch.
  await until('admission gets every account', () =>
    ['account-0', 'account-1', 'account-2'].every((account) =>
      applied.some(({ snapshots }) => snapshots?.accounts.some((one) => one.account === account)),
    ),
  );
  await settleCalls(3);
  expect(new Set([...told, ...applied.map(({ snapshots }) => snapshots?.ledgerEpoch)])).toEqual(
    new Set([after.ledgerEpoch]),
  );
});

// Covers r17
test('the chains reveal a lost wallet entry that the stream does not contain', async () => {
  const promote = await copyLedger(world.ledger.admin);
  await credit('5.00');
  const before = await state();
  // Billing compares every ten seconds, and at its start.
  await restartOn(async () => undefined);
  await until('the ledger is compared', () => loads('account-0'));
  await restartOn(promote);
  await until('loads are answered', () => loads('account-0'));
  expect((await state()).ledgerEpoch).not.toBe(before.ledgerEpoch);
  expect(await runAudit(world.ledger.pool)).toEqual([]);
});

test('a restored ledger settles the usage since its backup, then answers loads', async () => {
  await settleCalls(6);
  const promote = await copyLedger(world.ledger.admin);
  await settleCalls(30);
  // Billing has compared since the backup, so it knows a later settled position.
  await restartOn(async () => undefined);
  await until('the ledger is compared', () => loads('account-0'));
  const [before, whole] = [await state(), await balances()];
  const billing = await world.connect('billing');
  await restartOn(promote, async () => {
    const stream = await billing.streamState('USAGE');
    expect(await restoreLedger(createRestoreStore(world.ledger.pool), stream, false)).toMatchObject({ lost: 0 });
  });
  await until('loads are answered', () => loads('account-0'));
  expect(await balances()).toEqual(whole);
  expect(await runAudit(world.ledger.pool)).toEqual([]);
  expect((await state()).consumers).not.toBe(before.consumers);
  await until('admission gets every account', () =>
    ['account-0', 'account-1', 'account-2'].every((account) =>
      applied.some(({ snapshots }) => snapshots?.accounts.some((one) => one.account === account)),
    ),
  );
});

// Covers r17; lost usage has left the stream
test('lost usage that has left the stream stops loads, and the log contains its range', async () => {
  await settleCalls(3);
  const promote = await copyLedger(world.ledger.admin);
  const billing = await world.connect('billing');
  const { lastSequence: kept } = await billing.streamState('USAGE');
  await settleCalls(9);
  const before = await state();
  await restartOn(promote, () => billing.purgeStream('USAGE', kept + 4));
  const stopped = () => log.lines.find(({ text }) => text.startsWith('unsettled usage has left the stream'));
  await until('the range is logged', () => stopped() !== undefined);
  expect(stopped()).toMatchObject({ level: 'error', facts: { messages: [{ from: kept + 1, to: kept + 4 }] } });
  await expect(load('account-0')).rejects.toMatchObject({ code: 'behind' });
  expect((await state()).ledgerEpoch).toBe(before.ledgerEpoch);
});

test('a purge of unsettled usage stops loads, and the log contains its range', async () => {
  const billing = await world.connect('billing');
  const { lastSequence: before } = await billing.streamState('USAGE');
  await restartOn(
    async () => undefined,
    async () => {
      for (let at = 0; at < 3; at += 1) {
        const event = createSettledEvent(createHold('account-0'), 100 + at);
        await edge.store(usageEvents, { group: 0 }, packMessage([event]));
      }
      await billing.purgeStream('USAGE', before + 3);
    },
  );
  const stopped = () => log.lines.find(({ text }) => text.startsWith('unsettled usage has left the stream'));
  await until('the range is logged', () => stopped() !== undefined);
  // The previous test has left a gap below.
  const { messages } = stopped()?.facts as { messages: { from: number; to: number }[] };
  expect(messages.at(-1)?.to).toBe(before + 3);
  await expect(load('account-0')).rejects.toMatchObject({ code: 'behind' });
});
