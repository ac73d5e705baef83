import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { recordingLog, startDatabase, testPool, until } from '../test/database.js';
import { inTransaction, isConnectionFault, isDataFault, onPool, sqlStateOf, type Pool, type Tx } from './index.js';

let database: Awaited<ReturnType<typeof startDatabase>>;
let pool: Pool;

beforeAll(async () => {
  database = await startDatabase();
  pool = testPool(database.url);
  await pool.query('CREATE TABLE account (id text PRIMARY KEY, balance bigint NOT NULL CHECK (balance >= 0))');
});

afterAll(async () => {
  await pool.end();
  await database.stop();
});

async function setBalances(balances: Record<string, bigint>): Promise<void> {
  await pool.query('TRUNCATE account');
  for (const [id, balance] of Object.entries(balances)) {
    await pool.query('INSERT INTO account VALUES ($1, $2)', [id, balance]);
  }
}

async function balanceOf(id: string): Promise<bigint | undefined> {
  return (await onPool(pool).one<{ balance: bigint }>('SELECT balance FROM account WHERE id = $1', [id]))?.balance;
}

test('int8 is read as bigint, timestamptz as Date, numeric and date as text', async () => {
  const row = await onPool(pool).one(
    `SELECT 9007199254740993::int8 AS big, ARRAY[1, NULL, -9007199254740993]::int8[] AS many, '{}'::int8[] AS none,
            '2026-03-01T00:00:00.5+02'::timestamptz AS at, 0.1::numeric AS exact, '2026-03-01'::date AS day,
            '2026-03-01T10:00:00'::timestamp AS local, current_setting('TimeZone') AS zone, 7::int4 AS small`,
  );
  expect(row).toEqual({
    big: 9007199254740993n,
    many: [1n, null, -9007199254740993n],
    none: [],
    at: new Date('2026-02-28T22:00:00.500Z'),
    exact: '0.1',
    day: '2026-03-01',
    local: '2026-03-01 10:00:00',
    zone: 'UTC',
    small: 7,
  });
});

test('prepared and plain statements take bigint values and return the same rows', async () => {
  const queries = onPool(pool);
  const text = 'SELECT $1::int8 + 1 AS sum';
  const plain = await queries.one(text, [9007199254740992n]);
  const prepared = await queries.one(text, [9007199254740992n], { name: 'sum' });
  expect(plain).toEqual({ sum: 9007199254740993n });
  expect(prepared).toEqual(plain);
});

test('one() refuses several rows', async () => {
  await expect(onPool(pool).one('SELECT * FROM (VALUES (1), (2)) v')).rejects.toThrow('at most one row, got 2');
});

test.each([
  ['a transaction', <T>(on: Pool, work: (tx: Tx) => Promise<T>) => inTransaction(on, work)],
  ['a single statement', <T>(on: Pool, work: (tx: Tx) => Promise<T>) => work(onPool(on))],
])('after %s a connection from before the migration set its search path is replaced', async (_name, run) => {
  const early = testPool(database.url);
  const read = (): Promise<object | null> => run(early, (tx) => tx.one('SELECT id FROM later_item'));
  await expect(read()).rejects.toMatchObject({ code: '42P01' });
  const { rows } = await pool.query<{ name: string }>('SELECT quote_ident(current_database()) AS name');
  await pool.query(`CREATE SCHEMA later; CREATE TABLE later.later_item (id text); INSERT INTO later.later_item VALUES ('a');
    ALTER DATABASE ${rows[0]?.name} SET search_path = later`);
  try {
    expect(await read()).toEqual({ id: 'a' });
  } finally {
    await pool.query(`DROP SCHEMA later CASCADE; ALTER DATABASE ${rows[0]?.name} RESET search_path`);
    await early.end();
  }
});

test('a rejected transaction leaves no changes and its connection is reused', async () => {
  await setBalances({});
  const before = pool.totalCount;
  const failing = inTransaction(pool, async (tx) => {
    await tx.execute('INSERT INTO account VALUES ($1, 1)', ['a']);
    throw new Error('changed my mind');
  });
  await expect(failing).rejects.toThrow('changed my mind');
  expect(await balanceOf('a')).toBeUndefined();
  expect(pool.totalCount).toBe(before);
  expect(pool.idleCount).toBe(pool.totalCount);
});

test('a commit that the server turned into a rollback is an error', async () => {
  await setBalances({});
  const careless = inTransaction(pool, async (tx) => {
    await tx.execute('INSERT INTO account VALUES ($1, 1)', ['a']);
    await tx.execute('INSERT INTO account VALUES ($1, -1)', ['b']).catch(() => undefined);
  });
  await expect(careless).rejects.toThrow('rolled back');
  expect(await balanceOf('a')).toBeUndefined();
});

test('deadlocked transactions are repeated until both succeed', async () => {
  await setBalances({ a: 100n, b: 100n });
  let attempts = 0;
  let met: () => void = () => undefined;
  const bothHoldOne = new Promise<void>((resolve) => (met = resolve));
  let holding = 0;
  const move = (from: string, to: string) =>
    inTransaction(pool, async (tx) => {
      attempts += 1;
      await tx.execute('UPDATE account SET balance = balance - 10 WHERE id = $1', [from]);
      holding += 1;
      if (holding === 2) met();
      await bothHoldOne;
      await tx.execute('UPDATE account SET balance = balance + 10 WHERE id = $1', [to]);
    });
  await Promise.all([move('a', 'b'), move('b', 'a')]);
  expect(attempts).toBeGreaterThan(2);
  expect([await balanceOf('a'), await balanceOf('b')]).toEqual([100n, 100n]);
});

test('concurrent serializable increments lose no update', async () => {
  await setBalances({ a: 0n });
  const increment = () =>
    inTransaction(
      pool,
      async (tx) => {
        const row = await tx.one<{ balance: bigint }>("SELECT balance FROM account WHERE id = 'a'");
        await tx.execute("UPDATE account SET balance = $1 WHERE id = 'a'", [(row?.balance ?? 0n) + 1n]);
      },
      { isolation: 'serializable', attemptsMax: 100 },
    );
  await Promise.all(Array.from({ length: 8 }, increment));
  expect(await balanceOf('a')).toBe(8n);
});

test('the number of repeats is bounded', async () => {
  let attempts = 0;
  const hopeless = inTransaction(
    pool,
    async (tx) => {
      attempts += 1;
      await tx.execute("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$");
    },
    { attemptsMax: 3 },
  );
  await expect(hopeless).rejects.toMatchObject({ code: '40001' });
  expect(attempts).toBe(3);
});

test('a read-only transaction cannot write', async () => {
  const writing = inTransaction(pool, (tx) => tx.execute("INSERT INTO account VALUES ('c', 1)"), { readOnly: true });
  await expect(writing).rejects.toMatchObject({ code: '25006' });
});

test('a violated constraint is a data fault and does not close the connection', async () => {
  await setBalances({ a: 1n });
  const before = pool.totalCount;
  const error: unknown = await onPool(pool)
    .execute("INSERT INTO account VALUES ('a', 1)")
    .catch((fault: unknown) => fault);
  expect([isDataFault(error), isConnectionFault(error), sqlStateOf(error)]).toEqual([true, false, '23505']);
  expect(pool.totalCount).toBe(before);
});

test('a missing table is neither a data fault nor a connection fault', async () => {
  const error: unknown = await onPool(pool)
    .query('SELECT * FROM nothing')
    .catch((fault: unknown) => fault);
  expect([isDataFault(error), isConnectionFault(error)]).toEqual([false, false]);
});

test('an unreachable server and a statement timeout are connection faults', async () => {
  const nowhere = testPool('postgres://postgres@127.0.0.1:1/postgres');
  const refused: unknown = await onPool(nowhere)
    .query('SELECT 1')
    .catch((fault: unknown) => fault);
  await nowhere.end();
  const slow: unknown = await onPool(pool)
    .query('SET statement_timeout = 20; SELECT pg_sleep(10)')
    .catch((fault: unknown) => fault);
  expect([isConnectionFault(refused), isConnectionFault(slow)]).toEqual([true, true]);
});

test('a killed connection is replaced and does not end the process', async () => {
  const log = recordingLog();
  const own = testPool(database.url, log);
  const killed = inTransaction(own, async (tx) => {
    const row = await tx.one<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await pool.query('SELECT pg_terminate_backend($1)', [row?.pid]);
    await until('the lost connection is logged', () => log.lines.length > 0);
    await tx.query('SELECT 1');
  });
  const error: unknown = await killed.catch((fault: unknown) => fault);
  expect(isConnectionFault(error)).toBe(true);

  const idle = await onPool(own).one<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  await pool.query('SELECT pg_terminate_backend($1)', [idle?.pid]);
  await until('the pool forgets the killed connection', () => own.totalCount === 0);
  expect(await onPool(own).one('SELECT 1 AS one')).toEqual({ one: 1 });
  await own.end();
});
