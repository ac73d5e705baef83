import { beforeAll, expect, test } from '@jest/globals';
import { BusFault, type Bus } from '@gateway/bus';
import { sealTo } from '@gateway/service-kit';
import { until, type Replica } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { accepted, operatorOn, type Operator } from '../../test/operator.js';
import { AUTHOR, sourceSpec } from '../../test/specs.js';
import { startCatalogWorld } from '../../test/catalog-world.js';

const world = duringTests(startCatalogWorld);
let replica: Replica;
let operator: Operator;
let edge: Bus;
let published: ReadonlyMap<string, string> = new Map();
let revision = 0;

beforeAll(async () => {
  replica = await world.start();
  await until('ready', () => replica.ready.report().ready);
  operator = operatorOn(await world.connect('dashboard'));
  edge = await world.connect('edge-proxy');
  edge.mirrorBucket('catalog', (entries, head) => {
    published = entries;
    revision = head.revision;
  });
  await accepted(operator.putProvider('acme'));
  await accepted(operator.putModel('acme/one'));
});

const sealed = (text: string, id: string) => sealTo(text, id, world.sourcePublicKey);
const head = () => edge.bucketHead('catalog');
const rowsOf = (id: string) => world.sql.query('SELECT FROM sources WHERE id = $1', [id]);

test.each([
  'http://api.acme.example',
  'http://127.0.0.1:8080',
  'https://127.0.0.1',
  'https://127.1',
  'https://2130706433',
  'https://0x7f000001',
  'https://0177.0.0.1',
  'https://0x7f.1',
  'https://127.0.0.1.',
  'https://０x7f.1',
  'https://0.0.0.0',
  'https://10.0.0.1',
  'https://172.16.5.4',
  'https://192.168.1.1',
  'https://100.64.0.1',
  'https://169.254.169.254/latest/meta-data',
  'https://2852039166',
  'https://metadata.google.internal',
  'https://[::1]',
  'https://[::]',
  'https://[::ffff:127.0.0.1]',
  'https://[::ffff:a9fe:a9fe]',
  'https://[2002:a9fe:a9fe::1]',
  'https://[64:ff9b::169.254.169.254]',
  'https://[fe80::1]',
  'https://[fe80::1%25eth0]',
  'https://[fd00:ec2::254]',
  'https://localhost',
  'https://LOCALHOST.',
  'https://localhost..',
  'https://api.localhost',
  'https://redis',
  'https://redis.',
  'https://printer.local',
  'https://user@api.acme.example',
  'https://user:secret@api.acme.example',
  'https://api.acme.example@169.254.169.254',
  'https://api.acme.example?x=1',
  'https://api.acme.example/v1',
  'ftp://api.acme.example',
  'file:///etc/passwd',
])('the base URL %s is refused, and nothing is stored or published', async (baseUrl) => {
  const before = await head();
  const answer = await operator.putSource('ssrf', { baseUrl }).catch((error: unknown) => error);
  // The bus rejects texts that are not HTTP URLs, and the handler refuses the others.
  if (answer instanceof BusFault) expect(answer.code).toBe('invalid_message');
  else expect(answer).toEqual({ refused: expect.objectContaining({ code: 'invalid_request', param: 'baseUrl' }) });
  expect(JSON.stringify(answer)).not.toContain('secret@');
  expect(await rowsOf('ssrf')).toEqual([]);
  expect(await head()).toEqual(before);
});

test('a changed base URL is checked like a new one, and the stored one is kept', async () => {
  await accepted(operator.putSource('moved'));
  expect(await operator.putSource('moved', { baseUrl: 'https://169.254.169.254' })).toMatchObject({
    refused: { param: 'baseUrl' },
  });
  expect(await operator.getSource('moved')).toMatchObject({ source: { baseUrl: 'https://api.acme.example' } });
});

test('an unsealed or truncated credential is refused, and nothing is published', async () => {
  const own = sealed('sk-own', 'own');
  await accepted(operator.putSource('own', {}, own));
  const before = await head();
  const [version, id, enc, body] = own.split('.');
  const bad = [
    [version, id, enc].join('.'),
    [version, id, enc?.slice(1), body].join('.'),
    [version, id, enc, body?.slice(0, 21)].join('.'),
    [version, 'no id', enc, body].join('.'),
    ['v3', id, enc, body].join('.'),
    'sk-in-clear',
    '',
  ];
  for (const text of bad) {
    const refusal = { refused: expect.objectContaining({ code: 'invalid_request' }) };
    expect(await operator.putSource('own', { weight: 9 }, text)).toEqual(refusal);
    const object = { kind: 'source' as const, id: 'own', spec: sourceSpec({ weight: 9 }), sealedCredential: text };
    expect(await operator.apply([object])).toEqual(refusal);
  }
  expect(await head()).toEqual(before);
  expect(await operator.getSource('own')).toMatchObject({ source: { weight: 1 } });
  expect(JSON.parse(published.get('source.own') ?? '{}')).toMatchObject({ sealedCredential: own });
});

test("a credential appears only sealed, in the source's row and its entry", async () => {
  const canary = 'sk-canary-6f1d2c';
  const first = sealed(canary, 'canary');
  const object = { kind: 'source' as const, id: 'canary', spec: sourceSpec(), sealedCredential: first };
  const answers = [
    await operator.apply([object], { dryRun: true }),
    await operator.apply([object]),
    await operator.putSource('canary', { weight: 2 }, sealed(canary, 'canary')),
    await operator.putSource('canary', { weight: 3 }, sealed(`${canary}-2`, 'canary')),
    await operator.putSource('canary', { weight: 4 }, sealed(canary, 'other')),
    await operator.getSource('canary'),
    await operator.listSources(),
    await operator.audit(),
    await operator.sourceHealth(),
  ];
  const kept = (
    await world.sql.one<{ text: string }>("SELECT sealed_credential AS text FROM sources WHERE id = 'canary'")
  )?.text;
  expect(kept).toMatch(/^v2\./);
  expect(answers[3]).toMatchObject({ change: 'changed', source: { hasCredential: true } });
  const [entry] = (await accepted(operator.audit({ object: 'canary', limit: 1 }))).entries;
  expect(entry?.after).toMatchObject({ credentialChanged: true });
  await until('mirrored', () => published.get('source.canary')?.includes(kept ?? '?') === true && revision > 0);

  const tables = await world.sql.query<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'catalog'",
  );
  expect(tables.length).toBeGreaterThan(6);
  const stored = new Map<string, string>();
  for (const { name } of tables)
    stored.set(name, JSON.stringify(await world.sql.query(`SELECT t::text AS text FROM catalog.${name} t`)));
  const everything = [...stored.values(), JSON.stringify(answers), JSON.stringify(replica.log), ...published.values()];
  for (const clear of [
    canary,
    Buffer.from(canary).toString('hex'),
    Buffer.from(canary).toString('base64url').slice(0, 16),
  ])
    expect(everything.filter((text) => text.includes(clear))).toEqual([]);
  // The search works: it finds the sealed text only in the expected places.
  expect([...stored].filter(([, text]) => text.includes(kept ?? '?')).map(([name]) => name)).toEqual(['sources']);
  expect([JSON.stringify(answers), JSON.stringify(replica.log)].filter((text) => text.includes('v2.'))).toEqual([]);
  expect([...published].filter(([, text]) => text.includes(kept ?? '?')).map(([key]) => key)).toEqual([
    'source.canary',
  ]);
  expect(JSON.stringify(answers)).toContain(AUTHOR.actor);
});

test('private addresses are accepted if allowed, but not public plain HTTP', async () => {
  await replica.stop();
  replica = await world.start({ env: { GATEWAY_ALLOW_PRIVATE_SOURCES: 'true' } });
  await until('ready', () => replica.ready.report().ready);
  expect(await operator.putSource('private', { baseUrl: 'http://127.0.0.1:9000' })).toMatchObject({
    change: 'created',
  });
  expect(await operator.putSource('public', { baseUrl: 'http://api.acme.example' })).toMatchObject({
    refused: { param: 'baseUrl' },
  });
});
