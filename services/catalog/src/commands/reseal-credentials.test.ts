import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from '@jest/globals';
import {
  providerCredentialPlace,
  catalogPutModel,
  catalogPutProvider,
  catalogPutSource,
} from '@gateway/contracts/messages';
import { makePrivateKey, openSealed, publicHalfOf, sealTo, Secret } from '@gateway/service-kit';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { startCatalogWorld } from '../../test/catalog-world.js';
import { AUTHOR, modelSpec, providerSpec, sourceSpec } from '../../test/specs.js';

const PROGRAM = fileURLToPath(new URL('../../dist/commands/reseal.js', import.meta.url));
const newKey = () => new Secret(makePrivateKey());
const [previous, current, lost] = [newKey(), newKey(), newKey()];
const hex = (key: Secret<Buffer>) => key.reveal().toString('hex');

const world = duringTests(startCatalogWorld);
let published: ReadonlyMap<string, string> = new Map();

beforeAll(async () => {
  (await world.connect('admission')).mirrorBucket('catalog', (entries) => {
    published = entries;
  });
});

/** Runs the command like an operator. */
function reseal(env: Record<string, string>): Promise<{ code: number; said: string }> {
  const options = { env: { PATH: process.env['PATH'], GATEWAY_POSTGRES_URL: world.database.url, ...env } };
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM], options, (error, out, problems) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, said: out + problems }),
    );
  });
}

test('reseals credentials of the previous key and lists those that cannot be opened', async () => {
  const replica = await world.start();
  await until('ready', () => replica.ready.report().ready);
  const dashboard = await world.connect('dashboard');
  const place = providerCredentialPlace('acme');
  const providers = {
    acme: sealTo('sk-shared', place, publicHalfOf(previous)),
    elsewhere: sealTo('sk-lost', providerCredentialPlace('elsewhere'), publicHalfOf(lost)),
  };
  for (const [id, sealedCredential] of Object.entries(providers))
    await dashboard.request(catalogPutProvider, { id, spec: providerSpec(), sealedCredential, author: AUTHOR });
  await dashboard.request(catalogPutModel, { id: 'acme/one', spec: modelSpec(), author: AUTHOR });
  const sealed = {
    previous: sealTo('sk-previous', 'previous', publicHalfOf(previous)),
    current: sealTo('sk-current', 'current', publicHalfOf(current)),
    lost: sealTo('sk-lost', 'lost', publicHalfOf(lost)),
  };
  for (const [id, sealedCredential] of Object.entries(sealed))
    await dashboard.request(catalogPutSource, { id, spec: sourceSpec(), sealedCredential, author: AUTHOR });
  const ofProvider = () =>
    (JSON.parse(published.get('provider.acme') ?? '{}') as { sealedCredential?: string }).sealedCredential ?? '';
  const stored = (id: string): string =>
    (JSON.parse(published.get(`source.${id}`) ?? '{}') as { sealedCredential?: string }).sealedCredential ?? '';
  await until('published', () => stored('lost') === sealed.lost);

  const keys = {
    GATEWAY_SOURCE_PRIVATE_KEY: hex(current),
    GATEWAY_SOURCE_PRIVATE_KEY_PREVIOUS: hex(previous),
  };
  const { code, said } = await reseal(keys);
  expect([code, said]).toEqual([1, expect.stringContaining('2 credentials were sealed again')]);
  expect(said).toContain('no key given here opens the credentials of: provider:elsewhere, lost.');
  for (const secret of [...Object.values(keys), 'sk-']) expect(said).not.toContain(secret);
  const alone = { privateKey: { current, previous: null } };
  await until('published again', () => stored('previous') !== sealed.previous);
  expect(['previous', 'current'].map((id) => openSealed(stored(id), id, alone))).toEqual(['sk-previous', 'sk-current']);
  expect(openSealed(ofProvider(), place, alone)).toBe('sk-shared');
  expect([stored('current'), stored('lost')]).toEqual([sealed.current, sealed.lost]);
  const revision = () => world.sql.one('SELECT revision FROM catalog_state');
  const before = await revision();
  expect(await reseal(keys)).toMatchObject({ code: 1, said: expect.stringContaining('0 credentials') });
  expect(await revision()).toEqual(before);
});

test('exits with an error if the key is missing', async () => {
  expect(await reseal({})).toMatchObject({ code: 78, said: expect.stringContaining('GATEWAY_SOURCE_PRIVATE_KEY') });
});
