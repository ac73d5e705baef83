import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { SHARDS_TOTAL, shardOfAccount } from '@gateway/contracts/ids';
import type { BalanceSnapshot, UsageEvent } from '@gateway/contracts/messages';
import { onPool } from '@gateway/postgres';
import { silentLog, type TestDatabase } from '@gateway/testkit';
import { runAudit } from '../../test/audit.js';
import { createHold, packMessage, createSettledEvent } from '../../test/events.js';
import { type LedgerWorld, startLedgerWorld } from '../../test/ledger-world.js';
import { createMonths } from '../ledger/months.js';
import { createProgressStore } from '../stream/progress-store.js';
import type { UsageDelivery } from '../stream/stream.js';
import { REDELIVERY_DELAY_MS, processDeliveries, type ProcessingDeps } from './process-deliveries.js';
import { createSettlementMeter } from './meter.js';
import { isInfrastructureFault, createSettlementStore, type SettlementStore } from './commit/settlement-store.js';

let world: LedgerWorld;
let ledger: TestDatabase;

beforeAll(async () => {
  world = await startLedgerWorld();
}, 60_000);
beforeEach(async () => {
  ledger = await world.emptied();
});
afterAll(() => world.stop());

/** The steps in their order. */
type Step = { published: BalanceSnapshot[] } | { acked: number } | { givenBack: number; ms: number };

interface Bench {
  readonly steps: Step[];
  readonly deps: ProcessingDeps;
}

interface Changes {
  readonly store?: SettlementStore;
  readonly connected?: () => boolean;
  readonly stopping?: AbortSignal;
  readonly batchEventsMax?: number;
}

function bench(changes: Changes = {}): Bench {
  const steps: Step[] = [];
  const store = changes.store ?? createSettlementStore(ledger.pool);
  const deps: ProcessingDeps = {
    store,
    months: createMonths(store),
    announcer: {
      snapshots(accounts) {
        if (changes.connected?.() === false) return false;
        steps.push({ published: accounts });
        return true;
      },
    },
    meter: createSettlementMeter(),
    isInfrastructureFault,
    retryDelayMs: () => 1,
    log: silentLog,
    stopping: changes.stopping ?? new AbortController().signal,
    ...(changes.batchEventsMax === undefined ? {} : { batchEventsMax: changes.batchEventsMax }),
  };
  return { steps, deps };
}

function delivery(steps: Step[], sequence: number, data: Uint8Array): UsageDelivery {
  return {
    data,
    sequence,
    storedAtMs: sequence,
    ack: () => void steps.push({ acked: sequence }),
    retryAfter: (ms) => void steps.push({ givenBack: sequence, ms }),
  };
}

/** Delivers messages to the worker: each is an array of events, or bytes. */
async function deliver(
  { deps, steps }: Bench,
  ...messages: readonly (readonly unknown[] | Uint8Array)[]
): Promise<void> {
  const deliveries = messages.map((message, index) =>
    delivery(steps, index + 1, message instanceof Uint8Array ? message : packMessage(message)),
  );
  await processDeliveries(deps, 0, deliveries);
}

async function outcomes(): Promise<string[]> {
  const rows = await onPool(ledger.pool).query<{ text: string }>(
    `SELECT outcome || ' ' || charged_nano_usd AS text FROM usage_records
     UNION ALL SELECT 'dead letter: ' || reason FROM dead_letters ORDER BY 1`,
  );
  return rows.map(({ text }) => text);
}

const event = (amount = 10, account = 'a'): UsageEvent => createSettledEvent(createHold(account), amount);

// Covers r7
test('a batch is committed, then published, then acknowledged', async () => {
  const at = bench();
  const one = event();
  await deliver(at, [one], [event(5)]);
  expect(await outcomes()).toEqual(['settled 10', 'settled 5']);
  expect(at.steps.map((step) => Object.keys(step)[0])).toEqual(['published', 'acked', 'acked']);
  expect(at.steps[0]).toMatchObject({
    published: [
      {
        account: 'a',
        closed: [one.id, expect.any(String)],
        rows: expect.arrayContaining([{ name: 'wallet', value: -15, version: 1 }]),
      },
    ],
  });
});

// Covers billing is killed at any point
test('a batch that cannot be published is not acknowledged, and is repeated safely', async () => {
  let connected = false;
  const at = bench({ connected: () => connected });
  const one = event();
  await deliver(at, [one]);
  expect(at.steps).toEqual([{ givenBack: 1, ms: REDELIVERY_DELAY_MS }]);
  expect(await outcomes()).toEqual(['settled 10']);
  connected = true;
  at.steps.length = 0;
  await deliver(at, [one]);
  expect(at.steps).toEqual([
    {
      published: [
        { account: 'a', closed: [one.id], rows: expect.arrayContaining([{ name: 'wallet', value: -10, version: 1 }]) },
      ],
    },
    { acked: 1 },
  ]);
  expect(await outcomes()).toEqual(['settled 10']);
  expect(await runAudit(ledger.pool)).toEqual([]);
});

describe('dead letters', () => {
  test('contain a message that is not JSON, and the other messages settle', async () => {
    const at = bench();
    await deliver(at, Buffer.from('{"events":['), [event()]);
    expect(await outcomes()).toEqual(['dead letter: unreadable', 'settled 10']);
    expect(at.steps.filter((step) => 'acked' in step)).toHaveLength(2);
  });

  test.each([
    ['of an unknown version', { events: [event()], v: 2 }],
    ['without events', { v: 1 }],
    ['that is a number', 7],
  ])('contain a message %s', async (_what, body) => {
    await deliver(bench(), Buffer.from(JSON.stringify(body)));
    expect(await outcomes()).toEqual(['dead letter: unreadable']);
  });

  // Covers events come twice, late, re-ordered, broken
  test('contain an event that does not match the contract, and its ID is closed', async () => {
    const at = bench();
    const bad = { ...event(), evidence: 'guessed' };
    await deliver(at, [event(), bad, event(5)]);
    expect(await outcomes()).toEqual(['dead letter: unreadable', 'settled 10', 'settled 5']);
    const published = at.steps.flatMap((step) => ('published' in step ? step.published : []));
    expect(published.flatMap(({ closed }) => closed)).toContain(bad.id);
  });

  test('contain an event without a readable ID, and nothing is published', async () => {
    const at = bench();
    await deliver(at, [{ ...event(), id: 'not an id' }, null, 'text']);
    expect(await outcomes()).toEqual(['dead letter: unreadable', 'dead letter: unreadable', 'dead letter: unreadable']);
    expect(at.steps).toEqual([{ acked: 1 }]);
  });

  test('contain an event that the database rejects, and the others settle', async () => {
    ledger = await world.ledger();
    await ledger.admin.query(`
      CREATE FUNCTION billing.refuse_poison() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF NEW.account_number = (SELECT number FROM billing.accounts WHERE account = 'poison') THEN RAISE EXCEPTION 'poison'; END IF; RETURN NEW; END $$;
      CREATE TRIGGER poison BEFORE INSERT ON billing.call_records FOR EACH ROW EXECUTE FUNCTION billing.refuse_poison()`);
    const at = bench();
    const bad = event(7, 'poison');
    await deliver(at, [event(), bad], [event(5)]);
    expect(await outcomes()).toEqual(['dead letter: refused_by_database', 'settled 10', 'settled 5']);
    const published = at.steps.flatMap((step) => ('published' in step ? step.published : []));
    expect(published.find(({ account }) => account === 'poison')).toEqual({
      account: 'poison',
      rows: [],
      closed: [bad.id],
    });
    expect((await createProgressStore(ledger.pool).settledPosition()).sequence).toBe(2);
    expect(await runAudit(ledger.pool)).toEqual([]);
  });
});

describe('an infrastructure fault', () => {
  const unreachable = (): Error => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

  // Covers r7; PostgreSQL is down
  test('is retried, and creates no dead letter', async () => {
    const store = createSettlementStore(ledger.pool);
    let faults = 3;
    const at = bench({
      store: {
        ...store,
        commit: (work) => (faults-- > 0 ? Promise.reject(unreachable()) : store.commit(work)),
      },
    });
    await deliver(at, [event()]);
    expect(await outcomes()).toEqual(['settled 10']);
    expect(at.steps.at(-1)).toEqual({ acked: 1 });
  });

  test('that lasts too long, or until the service stops, returns the messages', async () => {
    const stopping = new AbortController();
    stopping.abort();
    const store = createSettlementStore(ledger.pool);
    const at = bench({ store: { ...store, commit: () => Promise.reject(unreachable()) }, stopping: stopping.signal });
    const full = Array.from({ length: 300 }, () => event());
    await deliver(at, full, full);
    expect(at.steps).toEqual([1, 2].map((givenBack) => ({ givenBack, ms: REDELIVERY_DELAY_MS })));
    expect(await outcomes()).toEqual([]);
  });

  test('from a missing table creates no dead letter', async () => {
    ledger = await world.ledger();
    await ledger.admin.query('ALTER TABLE billing.balances RENAME TO elsewhere');
    const stopping = new AbortController();
    stopping.abort();
    const at = bench({ stopping: stopping.signal });
    await deliver(at, [event()]);
    expect(at.steps).toEqual([{ givenBack: 1, ms: REDELIVERY_DELAY_MS }]);
    expect(await onPool(ledger.admin).query('SELECT FROM billing.dead_letters')).toEqual([]);
  });
});

test('an event that is not packed or is truncated becomes a dead letter alone', async () => {
  const at = bench();
  const [sound, cut] = [event(1), event(2)];
  const [version, [first, second]] = JSON.parse(Buffer.from(packMessage([sound, cut])).toString());
  await deliver(at, Buffer.from(JSON.stringify([version, [first, second.slice(0, -6), 'x', [], cut]])));
  expect(await outcomes()).toEqual([...Array(4).fill('dead letter: unreadable'), 'settled 1']);
});

test('messages are split into transactions of at most 1,200 events', async () => {
  const at = bench();
  const messages = Array.from({ length: 39 }, () => Array.from({ length: 100 }, () => event(1)));
  await deliver(at, ...messages);
  expect(at.steps.filter((step) => 'published' in step)).toHaveLength(4);
  const { rows } = await ledger.pool.query<{ posts: bigint }>(
    'SELECT count(DISTINCT posted_at) AS posts FROM ledger_transactions',
  );
  expect(rows[0]?.posts).toBe(4n);
});

describe('messages that are too large for one transaction', () => {
  const names = Array.from({ length: 40 }, (_, index) => `account-${index}`);
  const ofShard = (shard: number): string[] => names.filter((name) => shardOfAccount(name) === shard).slice(0, 3);
  const accounts = Array.from({ length: SHARDS_TOTAL }, (_, shard) => ofShard(shard)).flat();
  const message = (): UsageEvent[] => accounts.map((account) => event(1, account));

  test('are settled by shard, and acknowledged after all shards', async () => {
    expect(accounts).toHaveLength(12);
    const at = bench({ batchEventsMax: 8 });
    await deliver(at, message(), message(), message());
    expect(await outcomes()).toEqual(Array.from({ length: 36 }, () => 'settled 1'));
    const { rows } = await ledger.pool.query<{ accounts: string[] }>(
      'SELECT array_agg(account) AS accounts FROM ledger_transactions GROUP BY posted_at',
    );
    for (const { accounts: together } of rows) expect(new Set(together.map(shardOfAccount)).size).toBe(1);
    const kinds = at.steps.map((step) => Object.keys(step)[0]);
    expect(kinds.indexOf('acked')).toBeGreaterThanOrEqual(SHARDS_TOTAL);
    expect(at.steps.filter((step) => 'acked' in step)).toEqual([{ acked: 1 }, { acked: 2 }, { acked: 3 }]);
    expect((await createProgressStore(ledger.pool).settledPosition()).sequence).toBe(3);
    expect(await runAudit(ledger.pool)).toEqual([]);
  });

  test('are returned when one shard cannot be published, and do not count as settled', async () => {
    let told = 0;
    const at = bench({ batchEventsMax: 8, connected: () => (told += 1) !== 2 });
    const [one, two] = [message(), message()];
    await deliver(at, one, two);
    expect(at.steps.filter((step) => !('published' in step))).toEqual(
      [1, 2].map((givenBack) => ({ givenBack, ms: REDELIVERY_DELAY_MS })),
    );
    expect((await createProgressStore(ledger.pool).settledPosition()).sequence).toBe(0);
    at.steps.length = 0;
    await deliver(at, one, two);
    expect(at.steps.filter((step) => 'acked' in step)).toHaveLength(2);
    expect(await outcomes()).toEqual(Array.from({ length: 24 }, () => 'settled 1'));
    expect(await runAudit(ledger.pool)).toEqual([]);
  });
});
