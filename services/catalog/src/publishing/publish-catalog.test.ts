import { afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Bus } from '@gateway/bus';
import { catalogPutProvider, type CatalogProvider } from '@gateway/contracts/messages';
import { until, type Replica } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { AUTHOR, providerSpec } from '../../test/specs.js';
import { startCatalogWorld, type CatalogWorld } from '../../test/catalog-world.js';

const NEVER_MS = 3_600_000;

// It kills NATS and PostgreSQL.
const world = duringTests(() => startCatalogWorld({ own: true }));
let dashboard: Bus;
let reader: Bus;
let entries: ReadonlyMap<string, string> = new Map();
/** Revisions in the order in which a mirror got them. */
const revisions: number[] = [];
const replicas: Replica[] = [];

beforeAll(async () => {
  dashboard = await world.connect('dashboard');
  reader = await world.connect('admission');
  reader.mirrorBucket('catalog', (shown, head) => {
    entries = shown;
    revisions.push(head.revision);
  });
});

afterEach(async () => {
  await Promise.all(replicas.splice(0).map((replica) => replica.stop()));
});

async function start(options?: Parameters<CatalogWorld['start']>[0]): Promise<Replica> {
  const replica = await world.start(options);
  replicas.push(replica);
  await until('ready', () => replica.ready.report().ready);
  return replica;
}

const putProvider = (id: string, name = 'A provider') =>
  dashboard.request(catalogPutProvider, { id, spec: providerSpec({ name }), author: AUTHOR });
const provider = (id: string) => JSON.parse(entries.get(`provider.${id}`) ?? 'null') as CatalogProvider | null;
const databaseRevision = async () =>
  Number((await world.sql.one<{ revision: bigint }>('SELECT revision FROM catalog_state'))?.revision);

test('the service is ready after publishing, also an empty catalog', async () => {
  expect(await reader.bucketHead('catalog')).toBeNull();
  await start();
  expect(await reader.bucketHead('catalog')).toMatchObject({ revision: 0, count: 0 });
});

test('the bucket gets the configured replicas, so one server refuses three', async () => {
  const replica = await world.start({ env: { GATEWAY_STREAM_REPLICAS: '3' } });
  replicas.push(replica);
  const refused = () => replica.log.find(({ text }) => text.startsWith('publication failed'));
  await until('a publication is refused', () => refused() !== undefined);
  expect(refused()?.facts).toMatchObject({
    err: { message: expect.stringContaining('replicas > 1 not supported') as unknown },
  });
  expect(replica.ready.report().ready).toBe(false);
});

test('changes made while the service was stopped are published at its start', async () => {
  await world.sql.execute("INSERT INTO providers (id, name, format) VALUES ('early', 'Early', 'openai')");
  await world.sql.execute('UPDATE catalog_state SET revision = revision + 1');
  await start();
  await until('mirrored', () => provider('early')?.name === 'Early');
});

test('a change of another replica is found by the check of the head', async () => {
  await start();
  await world.sql.execute("UPDATE providers SET name = 'Changed' WHERE id = 'early'");
  await world.sql.execute('UPDATE catalog_state SET revision = revision + 1');
  await until('mirrored', () => provider('early')?.name === 'Changed');
});

test('concurrent replicas publish in order and end with the newest catalog', async () => {
  await Promise.all([start(), start()]);
  const shownBefore = revisions.length;
  await Promise.all(Array.from({ length: 60 }, (_, n) => putProvider(`p${n % 12}`, `Name ${n}`)));
  const newest = await databaseRevision();
  await until('the newest is mirrored', () => revisions.at(-1) === newest);
  const names = await world.sql.query<{ id: string; name: string }>('SELECT id, name FROM providers');
  for (const { id, name } of names) expect(provider(id)?.name).toBe(name);
  const shown = revisions.slice(shownBefore);
  expect(shown).toEqual([...shown].sort((a, b) => a - b));
});

test('the catalog is published again after the bus lost its storage', async () => {
  await start({ times: { checkMs: NEVER_MS } });
  const newest = await databaseRevision();
  await world.nats.restart?.({ kill: true, emptyState: true });
  // A new mirror, which only gets entries published after the loss.
  const fresh = (await world.connect('edge-proxy')).mirrorBucket('catalog', () => undefined);
  await until('published again', () => fresh.revision() === newest);
  await until('all services are connected again', () => reader.connected() && dashboard.connected());
  await until('a change is in force again', async () => {
    const saved = await putProvider('after-loss', `Name ${performance.now()}`);
    return 'inForce' in saved && saved.inForce;
  });
});

test('a bucket that a crashed writer left incomplete is repaired', async () => {
  const writer = await world.connect('catalog');
  await start({ times: { checkMs: 20, verifyMs: 100 } });
  const head = await reader.bucketHead('catalog');
  await writer.publishBucket('catalog', new Map([['provider.stray', '{}']]), head?.revision ?? 0);
  await until('repaired', async () => (await reader.bucketHead('catalog'))?.hash === head?.hash);
});

test('others wait for a dead publisher only until its lease ends', async () => {
  await start();
  const lease = "UPDATE publication_lease SET holder = 'dead', held_until = now() + interval '700 milliseconds'";
  const begun = performance.now();
  await world.sql.execute(lease);
  expect(await putProvider('after-death', 'After')).toMatchObject({ change: 'created' });
  expect(performance.now() - begun).toBeGreaterThan(500);
  await until('mirrored', () => provider('after-death')?.name === 'After');
});

test('a late writer is refused, so the head never goes back', async () => {
  const writer = await world.connect('catalog');
  await start();
  const head = await reader.bucketHead('catalog');
  const late = writer.publishBucket('catalog', new Map([['provider.stray', '{}']]), (head?.revision ?? 0) - 1);
  await expect(late).rejects.toMatchObject({ code: 'conflict' });
  expect(await reader.bucketHead('catalog')).toEqual(head);
});

test('a restored database continues above the published revision', async () => {
  const before = (await reader.bucketHead('catalog'))?.revision ?? 0;
  await world.sql.execute('UPDATE catalog_state SET revision = 1');
  const replica = await start();
  expect(await databaseRevision()).toBe(before + 1);
  expect(await reader.bucketHead('catalog')).toMatchObject({ revision: before + 1 });
  expect(replica.log.filter(({ level }) => level === 'error')).toHaveLength(1);
  expect(await putProvider('after', 'After')).toMatchObject({ change: 'created', revision: before + 2 });
});

test('a change responds after two seconds if it cannot be published', async () => {
  await start();
  const begun = performance.now();
  // An unreadable table simulates a failure between the commit and the bucket.
  await world.sql.execute('REVOKE SELECT ON cost_versions FROM gateway_catalog');
  let saved;
  try {
    saved = await putProvider('late', 'Late');
  } finally {
    await world.sql.execute('GRANT SELECT ON cost_versions TO gateway_catalog');
  }
  expect(saved).toMatchObject({ change: 'created', inForce: false });
  expect(performance.now() - begun).toBeGreaterThan(1_900);
  await until('published', () => provider('late')?.name === 'Late');
});

test('a change fails with dependency_unavailable while PostgreSQL is stopped', async () => {
  await start();
  await world.postgres.restart?.({ kill: true });
  await until('a change is saved', async () => {
    const answer = await putProvider('again', `Again ${performance.now()}`).catch(
      (error: { code?: string }) => error.code,
    );
    // A request that timed out has the code `timeout`.
    if (typeof answer === 'string') expect(['dependency_unavailable', 'timeout']).toContain(answer);
    return typeof answer === 'object';
  });
});
