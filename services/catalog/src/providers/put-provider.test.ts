import { beforeAll, expect, test } from '@jest/globals';
import { providerCredentialPlace } from '@gateway/contracts/messages';
import { sealTo } from '@gateway/service-kit';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { startCatalogWorld } from '../../test/catalog-world.js';
import { accepted, operatorOn, type Operator } from '../../test/operator.js';
import { providerSpec } from '../../test/specs.js';

const world = duringTests(startCatalogWorld);
let operator: Operator;
let published: ReadonlyMap<string, string> = new Map();

beforeAll(async () => {
  const replica = await world.start();
  await until('ready', () => replica.ready.report().ready);
  operator = operatorOn(await world.connect('dashboard'));
  (await world.connect('edge-proxy')).mirrorBucket('catalog', (entries) => {
    published = entries;
  });
  await accepted(operator.putProvider('acme'));
  await accepted(operator.putModel('acme/one'));
  await accepted(operator.putSource('shares'));
  await accepted(operator.putSource('owns', {}, sealed('sk-own', 'owns')));
});

const sealed = (text: string, place: string) => sealTo(text, place, world.sourcePublicKey);
const shared = (text: string) => sealed(text, providerCredentialPlace('acme'));
const entry = (key: string) => JSON.parse(published.get(key) ?? '{}') as Record<string, unknown>;
const source = async (id: string) => (await accepted(operator.getSource(id))).source;

test("a provider's credential serves its sources without one and changes for all", async () => {
  const [first, second] = [shared('sk-first'), shared('sk-second')];
  const auth = { type: 'header', header: 'x-acme' };
  expect(await operator.putProvider('acme', { auth }, first)).toMatchObject({
    change: 'changed',
    provider: { auth, hasCredential: true },
  });
  await until('published', () => entry('provider.acme')['sealedCredential'] === first);
  expect(await source('shares')).toMatchObject({ hasCredential: false, credentialOf: 'provider', auth });
  expect(await source('owns')).toMatchObject({ hasCredential: true, credentialOf: 'source', auth: { type: 'bearer' } });
  await until('its auth too', () => JSON.stringify(entry('source.shares')['auth']) === JSON.stringify(auth));

  expect(await operator.putProvider('acme', { auth })).toMatchObject({ change: 'unchanged' });
  const own = entry('source.shares');
  expect(await operator.putProvider('acme', { auth }, second)).toMatchObject({ change: 'changed' });
  await until('published again', () => entry('provider.acme')['sealedCredential'] === second);
  expect(entry('source.shares')).toEqual(own);

  const [last] = (await accepted(operator.audit({ object: 'acme', limit: 1 }))).entries;
  expect(last).toMatchObject({ after: { hasCredential: true, credentialChanged: true } });
  const answers = [
    await operator.getProvider('acme'),
    await operator.listProviders(),
    await operator.audit(),
    await source('shares'),
  ];
  for (const text of ['sk-', first, second]) expect(JSON.stringify(answers)).not.toContain(text);
  expect([...published].filter(([, text]) => text.includes(second)).map(([key]) => key)).toEqual(['provider.acme']);
});

test("a source without a credential uses its provider's, or none", async () => {
  await accepted(operator.putProvider('acme', {}, shared('sk-again')));
  expect(await operator.putSource('owns', {}, null)).toMatchObject({ source: { credentialOf: 'provider' } });
  expect(await operator.putProvider('acme', {}, null)).toMatchObject({ provider: { hasCredential: false } });
  expect(await source('owns')).toMatchObject({ hasCredential: false, credentialOf: null });
  await until('published', () => entry('provider.acme')['sealedCredential'] === undefined);
});

test('an unsealed credential and a header that the relay sets are refused', async () => {
  const refusal = (param: string) => ({ refused: expect.objectContaining({ code: 'invalid_request', param }) });
  expect(await operator.putProvider('acme', {}, 'sk-in-clear')).toEqual(refusal('credential'));
  const auth = { type: 'header', header: 'Content-Length' };
  expect(await operator.putProvider('acme', { auth })).toEqual(refusal('auth.header'));
  const object = { kind: 'provider' as const, id: 'acme', spec: providerSpec(), sealedCredential: 'v9.x' };
  expect(await operator.apply([object])).toEqual(refusal('objects[0].spec.credential'));
});

test('a document sets the credential, and a recreated provider has none', async () => {
  const place = providerCredentialPlace('other');
  const object = {
    kind: 'provider' as const,
    id: 'other',
    spec: providerSpec(),
    sealedCredential: sealed('sk', place),
  };
  expect(await operator.apply([object])).toMatchObject({
    changes: [{ kind: 'provider', change: 'created', credentialChanged: true, after: { hasCredential: true } }],
  });
  expect(await operator.apply([object])).toMatchObject({ changes: [], unchanged: 1 });
  await accepted(operator.remove('provider', 'other'));
  const rows = await world.sql.query("SELECT sealed_credential FROM providers WHERE id = 'other'");
  expect(rows).toEqual([{ sealed_credential: null }]);
  expect(await operator.putProvider('other')).toMatchObject({ change: 'created', provider: { hasCredential: false } });
});
