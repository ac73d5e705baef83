import { DEFAULT_KEY_PREFIX, makeSecret } from '@gateway/contracts/ids';
import { SERVICE_NAMES, type ServiceName } from '@gateway/contracts/messages';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import { Redis } from 'ioredis';
import { connect, type NatsConnection } from 'nats';
import { startSecuredWorld, type SecuredServers, type StartedService } from '../test/secured-world.js';

const WAIT_MS = 60_000;
jest.setTimeout(2 * WAIT_MS);

let world: SecuredServers;
let services: Record<ServiceName, StartedService>;
const connections: NatsConnection[] = [];

beforeAll(async () => {
  world = await startSecuredWorld();
  const started = await Promise.all(SERVICE_NAMES.map(async (name) => [name, await world.start(name)] as const));
  services = Object.fromEntries(started) as typeof services;
});
afterAll(async () => {
  await Promise.all(connections.map((nats) => nats.close()));
  await world.stop();
});

test('every service is ready with its permissions and TLS to all three servers', async () => {
  for (const [name, service] of Object.entries(services)) {
    await until(`${name} is ready`, () => service.isReady(), WAIT_MS).catch((error: unknown) => {
      throw new Error(`${name} is not ready:\n${service.log()}`, { cause: error });
    });
  }
  const answer = await fetch(`${services['edge-proxy'].edgeUrl}/v1/models`, {
    headers: { authorization: `Bearer ${makeSecret(DEFAULT_KEY_PREFIX)}` },
  });
  expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('invalid_api_key')]);
  const superuser = await world.postgres();
  const { rows } = await superuser.query<{ role: string; ssl: boolean }>(
    "SELECT DISTINCT usename AS role, ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename LIKE 'gateway_%' ORDER BY 1",
  );
  expect(rows).toEqual(['accounts', 'billing', 'catalog'].map((name) => ({ role: `gateway_${name}`, ssl: true })));
  for (const { log } of Object.values(services)) expect(log()).not.toMatch(/permission|NOPERM/i);
});

test('a service does not connect to a server with an unknown CA', async () => {
  const stranger = await world.start('admission', false);
  await until('the log says why', () => /certificate/.test(stranger.log()), WAIT_MS);
  expect(await stranger.isReady()).toBe(false);
});

test.each([
  ['FLUSHALL'],
  ['FLUSHDB'],
  ['CONFIG', 'GET', 'maxmemory'],
  ['CONFIG', 'SET', 'maxmemory', '0'],
  ['KEYS', '*'],
  ['SHUTDOWN', 'NOSAVE'],
  ['EVAL', 'return 1', '0'],
  ['SCRIPT', 'FLUSH'],
  ['ACL', 'LIST'],
  ['REPLICAOF', '127.0.0.1', '1'],
  ['CLIENT', 'KILL', 'TYPE', 'normal'],
  ['MONITOR'],
  ['SUBSCRIBE', 'a'],
  ['SAVE'],
])('Redis refuses %s %s to admission', async (command, ...args) => {
  const redis = new Redis(world.redisUrl, { tls: { ca: world.authority }, maxRetriesPerRequest: 0 });
  try {
    expect(await redis.ping()).toBe('PONG');
    await expect(redis.call(command, ...args)).rejects.toThrow('NOPERM');
  } finally {
    redis.disconnect();
  }
});

test.each([
  ['billing', 'UPDATE billing.ledger_entries SET amount_nano_usd = 0'],
  ['billing', 'DELETE FROM billing.ledger_entries'],
  ['billing', 'TRUNCATE billing.command_entries'],
  ['billing', 'UPDATE billing.ledger_transactions SET kind = kind'],
  ['billing', 'DELETE FROM billing.usage_records'],
  ['billing', 'DROP TABLE billing.call_records'],
  ['billing', 'SELECT * FROM accounts.api_keys'],
  ['accounts', 'SELECT * FROM billing.ledger_entries'],
  ['accounts', 'CREATE TABLE accounts.mine (a int)'],
  ['catalog', 'SELECT * FROM accounts.users'],
  ['catalog', 'CREATE ROLE mine'],
  ['finance', 'SELECT * FROM billing.ledger_entries'],
  ['finance', 'CREATE TABLE finance.mine (a int)'],
] as const)('PostgreSQL refuses to %s: %s', async (role, statement) => {
  const client = await world.postgres(role);
  await expect(client.query(statement)).rejects.toMatchObject({ code: expect.stringMatching(/^(42501|25006)$/) });
});

test('finance reads its views', async () => {
  const client = await world.postgres('finance');
  const { rows } = await client.query<{ name: string }>(
    "SELECT viewname AS name FROM pg_views WHERE schemaname = 'finance' ORDER BY 1",
  );
  expect(rows.length).toBeGreaterThan(3);
  for (const { name } of rows) await client.query(`SELECT * FROM finance.${name} LIMIT 1`);
});

test.each(SERVICE_NAMES)('NATS refuses foreign inboxes, deletions and purges to %s', async (name) => {
  const refused: string[] = [];
  const nats = await connect({
    servers: new URL(world.natsUrl).host,
    user: name,
    pass: world.passwords[name],
    tls: { ca: world.authority },
    inboxPrefix: `_INBOX_${name}`,
  });
  connections.push(nats);
  void (async () => {
    for await (const { permissionContext } of nats.status())
      if (permissionContext) refused.push(permissionContext.subject);
  })();
  const others = SERVICE_NAMES.filter((service) => service !== name).map((service) => `_INBOX_${service}.>`);
  const subscribed = ['>', '_INBOX.>', '$JS.>', ...others];
  for (const subject of subscribed) nats.subscribe(subject, { callback: () => undefined });
  const owned: Partial<Record<ServiceName, string>> = { billing: 'USAGE', admission: 'HEARTBEATS' };
  const streams = ['USAGE', 'HEARTBEATS', 'KV_catalog'];
  const published = [
    ...streams.map((stream) => `$JS.API.STREAM.DELETE.${stream}`),
    ...streams.filter((stream) => stream !== owned[name]).map((stream) => `$JS.API.STREAM.PURGE.${stream}`),
    '$JS.API.STREAM.CREATE.MINE',
    '$SYS.REQ.SERVER.PING',
    ...(name === 'catalog' ? [] : ['$KV.catalog.head']),
  ];
  for (const subject of published) nats.publish(subject, '{}');
  await nats.flush();
  await until('every one is refused', () => new Set(refused).size === subscribed.length + published.length, WAIT_MS);
  expect([...new Set(refused)].sort()).toEqual([...subscribed, ...published].sort());
});
