import { patientClock } from '@gateway/testkit/clocks';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { recordingLog, startDatabase, testPool, until } from '../../test/database.js';
import { enqueue, inTransaction, IN_FORCE_MS, onPool, outboxTableSql, startOutbox } from '../index.js';
import type { Outbox, OutboxOptions, Pool } from '../index.js';

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

/** Starts an outbox that polls the table only after a nudge. */
function start(deliver: OutboxOptions['deliver'], more: Partial<OutboxOptions> = {}): Outbox {
  const outbox = startOutbox({
    pool,
    log: recordingLog(),
    clock: patientClock,
    pollMs: 3_600_000,
    deliver,
    ...more,
  });
  started.push(outbox);
  return outbox;
}

const put = (key: string, change: string) =>
  inTransaction(pool, (tx) => enqueue(tx, { topic: 'changed', key, body: { change, value: 1 } }));

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
  const outbox = start(async () => {
    // From here on no other session can read the table or delete from it.
    await locker.query('BEGIN');
    await locker.query('LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE');
  });
  try {
    await put('a', 'c1');
    expect(await outbox.awaitDelivered('a', 'c1')).toBe(true);
  } finally {
    await locker.query('ROLLBACK');
    locker.release();
  }
});

test('awaitDelivered() notices a delivery by another replica', async () => {
  const held = makeLatch();
  let taken = false;
  const other = start(async () => {
    taken = true;
    await held.opened;
  });
  await put('a', 'c1');
  other.nudge();
  await until('the other replica has taken the row', () => taken);
  const own = start(() => Promise.reject(new Error('the other replica has it')));
  let delivered = false;
  const waiting = own.awaitDelivered('a', 'c1').then((yes) => (delivered = yes));
  expect(await own.awaitDelivered('a', 'c1', 50)).toBe(false);
  expect(delivered).toBe(false);
  held.open();
  expect(await waiting).toBe(true);
});

test('awaitDelivered() returns at once for delivered or unknown changes only', async () => {
  const held = makeLatch();
  const outbox = start(() => held.opened);
  await put('a', 'c2');
  expect(await outbox.awaitDelivered('a', 'c1')).toBe(true);
  expect(await outbox.awaitDelivered('b', 'c2')).toBe(true);
  expect(await outbox.awaitDelivered('a', 'c2', 50)).toBe(false);
  held.open();
  expect(await outbox.awaitDelivered('a', 'c2')).toBe(true);
});

test('each of many waits for one key ends when its own change is delivered', async () => {
  const got: unknown[] = [];
  const outbox = start(async ({ body }) => void got.push((body as { change: string }).change));
  const changes = Array.from({ length: 20 }, (_value, index) => `c${index}`);
  for (const change of changes) await put('a', change);
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
  const outbox = start(async ({ key }) => void got.push(key), { keysMax: 2 });
  expect(await outbox.awaitDelivered('queued-99', 'c1')).toBe(true);
  // The earlier row of its key is delivered first, and rows already claimed come before both.
  expect(got.length).toBeLessThan(50);
  await until('all is delivered', () => got.length === queued.length + 1);
});

test('awaitDelivered() is false while the receiver is down and true soon after', async () => {
  let away = true;
  let attempts = 0;
  const outbox = start(
    () => {
      attempts += 1;
      return away ? Promise.reject(new Error('away')) : Promise.resolve();
    },
    { retryBaseMs: 5, retryMaxMs: 200 },
  );
  await put('a', 'c1');
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
  const outbox = start(async () => undefined, { pool: own });
  const begunMs = performance.now();
  expect(await outbox.awaitDelivered('a', 'c1', 60)).toBe(false);
  expect(performance.now() - begunMs).toBeGreaterThan(50);
});

test('two commands can wait for one row, which is deleted soon after', async () => {
  const outbox = start(async () => undefined);
  await put('a', 'c1');
  expect(await Promise.all([outbox.awaitDelivered('a', 'c1'), outbox.awaitDelivered('a', 'c1')])).toEqual([true, true]);
  await until('the row is deleted', async () => (await onPool(pool).query('SELECT FROM outbox')).length === 0);
});
