import pg from 'pg';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { recordingLog, startPostgres, startStandby, until, type TestServer } from '../../test/database.js';
import { createPool, isConnectionFault, onPool, primaryUrl, readServerState, Timelines, type Pool } from '../index.js';

let first: TestServer;
let second: TestServer;
let both: string;
let system: string;
const pools: Pool[] = [];
const open = (url: string, timelines = new Timelines()): Pool => {
  const pool = createPool(url, { applicationName: 'test', timelines, log: recordingLog() });
  pools.push(pool);
  return pool;
};
const portOf = ({ url }: TestServer): number => Number(new URL(url).port);
const portBehind = async (pool: Pool): Promise<number> =>
  Number((await onPool(pool).one<{ port: string }>(`SELECT current_setting('port') AS port`))?.port);

beforeAll(async () => {
  first = await startPostgres();
  second = await startStandby(first);
  // The standby comes first in the list and must be skipped.
  const hosts = `127.0.0.1:${portOf(second)},127.0.0.1:${portOf(first)}`;
  both = `${first.url.replace(/@[^/]*/, `@${hosts}`)}?target_session_attrs=read-write`;
  const pool = open(first.url);
  ({ system } = await readServerState(pool));
  await pool.query('CREATE TABLE item (id int)');
}, 120_000);

afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await Promise.all([first.stop(), second.stop()]);
});

test('a pool with several servers writes to the primary in any order of the URL', async () => {
  expect(await portBehind(open(both))).toBe(portOf(first));
  expect(new URL(await primaryUrl(both)).port).toBe(String(portOf(first)));
});

test('a standby alone is rejected as a connection fault', async () => {
  const refused = await open(second.url)
    .query('SELECT 1')
    .catch((error: unknown) => error);
  expect(String(refused)).toMatch(/is a standby/);
  expect(isConnectionFault(refused)).toBe(true);
});

test('a URL with another target than the primary is refused', () => {
  expect(() => open(both.replace('read-write', 'standby'))).toThrow(/target_session_attrs=standby is not supported/);
});

test('a promoted server is used and the former primary never again', async () => {
  const timelines = new Timelines();
  const [pool, other] = [open(both, timelines), open(first.url, timelines)];
  await onPool(other).execute('INSERT INTO item VALUES (1)');
  expect(await portBehind(pool)).toBe(portOf(first));
  expect(timelines.highest(system)).toBe(1);
  const there = async (): Promise<boolean> => {
    const { rows } = await other.query(`SELECT FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()`);
    return rows.length === 1;
  };
  await until('the standby has everything', there);
  process.kill(first.server.pid!, 'SIGKILL');
  const standby = new pg.Client({ connectionString: second.url });
  await standby.connect();
  await standby.query('SELECT pg_promote()');
  expect(await readServerState(standby)).toMatchObject({ isStandby: false, timeline: 2 });
  await standby.end();
  await until('the pool has found it', () =>
    portBehind(pool).then(
      (port) => port === portOf(second),
      () => false,
    ),
  );
  expect(timelines.highest(system)).toBe(2);
  expect(await onPool(pool).query('SELECT id FROM item')).toEqual([{ id: 1 }]);
  // The former primary restarts unchanged and does not know about the promotion.
  await first.server.restart?.({ kill: true });
  await expect(onPool(other).execute('INSERT INTO item VALUES (2)')).rejects.toThrow(/timeline 1.*promoted to 2/);
  expect(await portBehind(open(both))).toBe(portOf(second));
});

test('connections to a replaced primary are closed when a higher timeline is known', async () => {
  const timelines = new Timelines();
  const pool = open(first.url, timelines);
  const asked = onPool(pool).query('SELECT pg_sleep(20)');
  await until('it is asked', () => timelines.highest(system) === 1);
  timelines.observe(system, 2);
  const failed = await asked.catch((error: unknown) => error);
  expect(isConnectionFault(failed)).toBe(true);
  await expect(onPool(pool).query('SELECT 1')).rejects.toThrow(/promoted to 2/);
});
