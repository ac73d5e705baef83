import { patientClock } from '@gateway/testkit/clocks';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { recordingLog, startDatabase, testPool, until } from '../../test/database.js';
import {
  enqueue,
  IN_FORCE_MS,
  inTransaction,
  onPool,
  outboxAges,
  outboxTableSql,
  startOutbox,
  type Outbox,
  type OutboxOptions,
  type OutboxRow,
  type Pool,
} from '../index.js';

let database: Awaited<ReturnType<typeof startDatabase>>;
let pool: Pool;
const started: Outbox[] = [];

beforeAll(async () => {
  database = await startDatabase();
  pool = testPool(database.url);
  await pool.query(outboxTableSql().replace('${role}', 'current_user'));
});

beforeEach(() => pool.query('TRUNCATE outbox'));

afterEach(async () => {
  await Promise.all(started.splice(0).map((outbox) => outbox.stop()));
});

afterAll(async () => {
  await pool.end();
  await database.stop();
});

function start(options: Pick<OutboxOptions, 'deliver'> & Partial<OutboxOptions>): Outbox {
  const outbox = startOutbox({
    pool,
    log: recordingLog(),
    pollMs: 50,
    leaseMs: 60_000,
    deliverMs: 20_000,
    retryBaseMs: 20,
    retryMaxMs: 50,
    ...options,
  });
  started.push(outbox);
  return outbox;
}

async function put(...messages: readonly (readonly [key: string, body: unknown])[]): Promise<void> {
  await inTransaction(pool, async (tx) => {
    for (const [key, body] of messages) await enqueue(tx, { topic: 'changed', key, body });
  });
}

async function rowsLeft(): Promise<number> {
  return (await onPool(pool).one<{ n: number }>('SELECT count(*)::int AS n FROM outbox'))?.n ?? -1;
}

const empty = () => until('the outbox is empty', async () => (await rowsLeft()) === 0);

test('the outbox claims no row while mayClaim() is false', async () => {
  let [mayClaim, asked] = [false, 0];
  const delivered: string[] = [];
  await put(['a', 1]);
  start({
    deliver: async ({ key }) => void delivered.push(key),
    mayClaim: () => ((asked += 1), mayClaim),
  });
  await until('it has looked again', () => asked > 2);
  expect([delivered, await rowsLeft()]).toEqual([[], 1]);
  mayClaim = true;
  await until('it is delivered', async () => (await rowsLeft()) === 0);
  expect(delivered).toEqual(['a']);
});

test('the outbox delivers committed messages completely and no others', async () => {
  const got: OutboxRow[] = [];
  await inTransaction(pool, async (tx) => {
    await enqueue(tx, { topic: 'changed', key: 'ghost', body: 1 });
    throw new Error('rolled back');
  }).catch(() => undefined);
  await put(['a', { amountNanoUsd: 12, texts: ['x', null] }]);
  start({ deliver: async (row) => void got.push(row) });
  await empty();
  expect(got).toMatchObject([
    { topic: 'changed', key: 'a', body: { amountNanoUsd: 12, texts: ['x', null] }, attempts: 0 },
  ]);
});

test('nudge() delivers after a commit without waiting for the next poll', async () => {
  let delivered = 0;
  const outbox = start({ deliver: async () => void (delivered += 1), pollMs: 3_600_000 });
  await put(['a', 1]);
  outbox.nudge();
  await until('the row is delivered', () => delivered === 1);
});

test('several replicas share the keys and keep the order within each key', async () => {
  const keys = ['a', 'b', 'c', 'd', 'e', 'f'];
  const perKey = 40;
  for (let body = 0; body < perKey; body += 1) await put(...keys.map((key) => [key, body] as const));
  const orders = new Map<string, unknown[]>(keys.map((key) => [key, []]));
  const busy = new Set<string>();
  let overlaps = 0;
  const byReplica = [0, 0, 0];
  let allHaveOne = (): void => undefined;
  const haveAllOne = new Promise<void>((resolve) => (allHaveOne = resolve));
  const pools = byReplica.map(() => testPool(database.url));
  await Promise.all(pools.map((own) => own.query('SELECT 1')));
  byReplica.forEach((_count, replica) =>
    start({
      pool: pools[replica] as Pool,
      batchMax: 3,
      keysMax: 2,
      deliver: async ({ key, body }) => {
        if (busy.has(key)) overlaps += 1;
        busy.add(key);
        byReplica[replica] = (byReplica[replica] ?? 0) + 1;
        // Ensures that all replicas take part: the first row of each waits until every replica has
        // one.
        if (byReplica.every((count) => count > 0)) allHaveOne();
        await haveAllOne;
        await new Promise((resolve) => setImmediate(resolve));
        orders.get(key)?.push(body);
        busy.delete(key);
      },
    }),
  );
  await empty();
  await Promise.all(started.splice(0).map((outbox) => outbox.stop()));
  await Promise.all(pools.map((own) => own.end()));
  const expected = Array.from({ length: perKey }, (_value, index) => index);
  for (const key of keys) expect(orders.get(key)).toEqual(expected);
  expect(overlaps).toBe(0);
  expect(byReplica.every((count) => count > 0)).toBe(true);
});

test('a failing row is retried and blocks only its own key', async () => {
  const got: string[] = [];
  const attempts: number[] = [];
  await put(['a', 1], ['a', 2], ['b', 3]);
  start({
    deliver: async (row) => {
      if (row.body === 1) {
        attempts.push(row.attempts);
        if (row.attempts < 3) throw new Error('not now');
      }
      got.push(`${row.key}${String(row.body)}`);
    },
  });
  await empty();
  expect(attempts).toEqual([0, 1, 2, 3]);
  expect(got).toEqual(['b3', 'a1', 'a2']);
});

test('a hanging delivery counts as failed after its timeout', async () => {
  let calls = 0;
  await put(['a', 1]);
  start({
    deliverMs: 30,
    deliver: () => {
      calls += 1;
      return calls === 1 ? new Promise<never>(() => undefined) : Promise.resolve();
    },
  });
  await empty();
  expect(calls).toBe(2);
});

test('rows of a killed replica are delivered by another in order after the lease', async () => {
  await put(['a', 1], ['a', 2]);
  const killed = testPool(database.url);
  let taken = false;
  const dying = startOutbox({
    pool: killed,
    log: recordingLog(),
    leaseMs: 400,
    deliverMs: 200,
    deliver: async () => {
      taken = true;
      // From here on the killed replica cannot reach the database, so it never deletes its rows.
      void killed.end();
      throw new Error('killed');
    },
  });
  await until('the first replica has taken the rows', () => taken);
  await dying.stop();
  const got: unknown[] = [];
  start({ deliver: async ({ body }) => void got.push(body) });
  expect(got).toEqual([]);
  await empty();
  expect(got).toEqual([1, 2]);
});

// Covers r18
test('the outbox holds no connection during a delivery', async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  let running = 0;
  await put(['a', 1], ['b', 2], ['c', 3]);
  start({
    deliver: async () => {
      running += 1;
      await held;
    },
  });
  await until('three deliveries run', () => running === 3);
  const active = await onPool(pool).one<{ n: number }>(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND datname = current_database()",
  );
  expect(active?.n).toBe(0);
  await until('every connection is back in the pool', () => pool.idleCount === pool.totalCount);
  release();
  await empty();
});

test('stop() waits for the running delivery and claims nothing more', async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const got: unknown[] = [];
  await put(['a', 1]);
  const outbox = start({
    deliver: async ({ body }) => {
      got.push(body);
      await held;
    },
  });
  await until('the delivery has begun', () => got.length === 1);
  const stopped = outbox.stop();
  await put(['b', 2]);
  outbox.nudge();
  release();
  await stopped;
  expect(got).toEqual([1]);
  expect(await rowsLeft()).toBe(1);
});

test('the outbox recovers from a database outage and logs it once', async () => {
  const log = recordingLog();
  const own = testPool(database.url);
  const got: unknown[] = [];
  await pool.query('ALTER TABLE outbox RENAME TO outbox_away');
  try {
    start({ pool: own, log, deliver: async ({ body }) => void got.push(body) });
    await until('the fault is logged', () => log.lines.length > 0);
  } finally {
    await pool.query('ALTER TABLE outbox_away RENAME TO outbox');
  }
  await put(['a', 1]);
  await empty();
  expect(got).toEqual([1]);
  expect(log.lines.map(({ text }) => text)).toEqual(['the outbox cannot be read; will retry']);
  await Promise.all(started.splice(0).map((outbox) => outbox.stop()));
  await own.end();
});

test('outboxAges() returns the age of the oldest row, and 0 when empty', async () => {
  expect(await outboxAges(pool, ['outbox'])).toEqual([['outbox', 0]]);
  await put(['a', 1], ['b', 2]);
  await pool.query("UPDATE outbox SET created_at = created_at - interval '90 seconds' WHERE key = 'a'");
  const [age] = await outboxAges(pool, ['outbox']);
  expect(age?.[0]).toBe('outbox');
  expect(age?.[1]).toBeGreaterThanOrEqual(90);
  expect(age?.[1]).toBeLessThan(150);
});

test('a lease that is too short for a delivery is refused', () => {
  expect(() => start({ leaseMs: 100, deliverMs: 60, deliver: async () => undefined })).toThrow('twice the timeout');
});

const putChange = (key: string, change: string) => put([key, { change, value: 1 }]);

/** Starts an outbox that polls the table only after a nudge. */
function startUnpolled(deliver: OutboxOptions['deliver'], more: Partial<OutboxOptions> = {}): Outbox {
  return start({ clock: patientClock, pollMs: 3_600_000, deliver, ...more });
}

function makeLatch(): { readonly opened: Promise<void>; open(): void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

test('a command waits at most five seconds', () => {
  expect(IN_FORCE_MS).toBe(5_000);
});

test("awaitDelivered() resolves after this replica's delivery without the table", async () => {
  const locker = await pool.connect();
  const outbox = startUnpolled(async () => {
    // From here on no other session can read the table or delete from it.
    await locker.query('BEGIN');
    await locker.query('LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE');
  });
  try {
    await putChange('a', 'c1');
    expect(await outbox.awaitDelivered('a', 'c1')).toBe(true);
  } finally {
    await locker.query('ROLLBACK');
    locker.release();
  }
});

test('awaitDelivered() notices a delivery by another replica', async () => {
  const held = makeLatch();
  let taken = false;
  const other = startUnpolled(async () => {
    taken = true;
    await held.opened;
  });
  await putChange('a', 'c1');
  other.nudge();
  await until('the other replica has taken the row', () => taken);
  const own = startUnpolled(() => Promise.reject(new Error('the other replica has it')));
  let delivered = false;
  const waiting = own.awaitDelivered('a', 'c1').then((yes) => (delivered = yes));
  expect(await own.awaitDelivered('a', 'c1', 50)).toBe(false);
  expect(delivered).toBe(false);
  held.open();
  expect(await waiting).toBe(true);
});

test('awaitDelivered() returns at once for delivered or unknown changes only', async () => {
  const held = makeLatch();
  const outbox = startUnpolled(() => held.opened);
  await putChange('a', 'c2');
  expect(await outbox.awaitDelivered('a', 'c1')).toBe(true);
  expect(await outbox.awaitDelivered('b', 'c2')).toBe(true);
  expect(await outbox.awaitDelivered('a', 'c2', 50)).toBe(false);
  held.open();
  expect(await outbox.awaitDelivered('a', 'c2')).toBe(true);
});

test('each of many waits for one key ends when its own change is delivered', async () => {
  const got: unknown[] = [];
  const outbox = startUnpolled(async ({ body }) => void got.push((body as { change: string }).change));
  const changes = Array.from({ length: 20 }, (_value, index) => `c${index}`);
  for (const change of changes) await putChange('a', change);
  const seen = await Promise.all(
    changes.map(async (change) => [await outbox.awaitDelivered('a', change), got.includes(change)]),
  );
  expect(seen).toEqual(changes.map(() => [true, true]));
  expect(got).toEqual(changes);
});

test('an awaited row is delivered before all rows that were queued earlier', async () => {
  const queued = Array.from({ length: 100 }, (_, at) => `queued-${at}`);
  await inTransaction(pool, async (tx) => {
    for (const key of queued) await enqueue(tx, { topic: 'changed', key, body: {} });
    await enqueue(tx, { topic: 'changed', key: 'queued-99', body: { change: 'c1' } });
  });
  const got: string[] = [];
  const outbox = startUnpolled(async ({ key }) => void got.push(key), { keysMax: 2 });
  expect(await outbox.awaitDelivered('queued-99', 'c1')).toBe(true);
  // The earlier row of its key is delivered first, and rows already claimed come before both.
  expect(got.length).toBeLessThan(50);
  await until('all is delivered', () => got.length === queued.length + 1);
});

test('awaitDelivered() is false while the receiver is down and true soon after', async () => {
  let away = true;
  let attempts = 0;
  const outbox = startUnpolled(
    () => {
      attempts += 1;
      return away ? Promise.reject(new Error('away')) : Promise.resolve();
    },
    { retryBaseMs: 5, retryMaxMs: 200 },
  );
  await putChange('a', 'c1');
  expect(await outbox.awaitDelivered('a', 'c1', 100)).toBe(false);
  // After this many failures the retry delay has reached its maximum.
  await until('the receiver was away for long', () => attempts > 8);
  away = false;
  // Nothing polls here: only the retry delay triggers the attempt.
  expect(await outbox.awaitDelivered('a', 'c1')).toBe(true);
});

test('awaitDelivered() waits its full time while the database is down', async () => {
  const own = testPool(database.url);
  await own.end();
  const outbox = startUnpolled(async () => undefined, { pool: own });
  const begunMs = performance.now();
  expect(await outbox.awaitDelivered('a', 'c1', 60)).toBe(false);
  expect(performance.now() - begunMs).toBeGreaterThan(50);
});

test('two commands can wait for one row, which is deleted soon after', async () => {
  const outbox = startUnpolled(async () => undefined);
  await putChange('a', 'c1');
  expect(await Promise.all([outbox.awaitDelivered('a', 'c1'), outbox.awaitDelivered('a', 'c1')])).toEqual([true, true]);
  await until('the row is deleted', async () => (await onPool(pool).query('SELECT FROM outbox')).length === 0);
});
