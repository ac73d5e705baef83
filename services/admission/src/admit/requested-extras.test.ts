import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RefusalCode } from '@gateway/contracts/errors';
import type { AdmitEntry, RequestedExtras } from '@gateway/contracts/messages';
import { buildCatalogView } from './catalog-view-rules.js';
import {
  PRICE,
  admit,
  admitEntry,
  figures,
  makeAccount,
  makeWorld,
  model,
  mustAdmit,
  source,
} from '../../test/world.js';
import type { Replica, World } from '../../test/world.js';

let world: World;
let replica: Replica;

const NO_KINDS = { audioInput: null, audioOutput: null, imageInput: null, imageOutput: null };
const prices = (outputPerMillion: number) => ({
  inputPerMillion: 0,
  cachedInputPerMillion: null,
  cacheWritePerMillion: null,
  cacheWrite1hPerMillion: null,
  outputPerMillion,
  tiers: [],
});
/** Output of a call: 10 nano-USD, 30 in the expensive class, 5 in the cheap one; a search: 100. */
const SOLD = figures({
  outputPerMillion: 1_000_000,
  extras: {
    classes: { priority: prices(3_000_000), flex: prices(500_000) },
    units: { web_search: 100 },
    kinds: NO_KINDS,
  },
});

beforeAll(async () => {
  world = await makeWorld();
  const priced = (id: string, of: ReturnType<typeof figures>) =>
    model(id, { prices: [{ version: `p-${id}`, effectiveFrom: 0, figures: of }] });
  world.catalog = buildCatalogView(
    [
      priced('acme/sold', SOLD),
      model('acme/plain', {}),
      model('acme/off', { available: false }),
      model('acme/no-price', { prices: [] }),
      model('acme/no-source', {}),
    ],
    ['sold', 'plain', 'off', 'no-price'].map((name) => source(`acme/${name}`, { enabled: true })),
  );
  replica = await world.replica();
});
afterAll(() => world.stop());

const asked = (more: Partial<RequestedExtras>): RequestedExtras => ({
  class: 'standard',
  units: {},
  field: '',
  ...more,
});
const dear = asked({ class: 'priority', field: 'service_tier' });
const cheap = asked({ class: 'flex', field: 'service_tier' });
const search = asked({ units: { web_search: 2 }, field: 'tools' });
const fast = asked({ class: 'fast', field: 'speed' });

test.each<[string, RequestedExtras[] | undefined, number]>([
  ['no further request field', undefined, 10],
  ['a more expensive class', [dear], 30],
  ['a cheaper class, which may be served as standard', [cheap], 10],
  ['a tool', [search], 210],
  ['the most expensive of several readings', [asked({}), search, dear], 210],
  ['several readings, of which one has no price', [fast, dear], 30],
])('a call is held for its worst case with %s', async (_what, requestedExtras, worst) => {
  const account = makeAccount(world, { wallet: 1_000 });
  const admitted = await mustAdmit(replica, entryOf(account.digest, 'acme/sold', { requestedExtras }));
  expect(admitted.hold).toMatchObject({ worstNanoUsd: worst });
});

test.each<[string, string, Partial<AdmitEntry>, object]>([
  [
    'no reading has a price',
    'acme/sold',
    { requestedExtras: [fast] },
    { model: 'acme/sold', field: 'speed', unpriced: 'fast' },
  ],
  [
    'the version prices nothing else',
    'acme/plain',
    { requestedExtras: [search] },
    { model: 'acme/plain', field: 'tools', unpriced: 'web_search' },
  ],
  [
    'no source can price it',
    'acme/sold',
    { unpricedField: 'tools', unpricedName: 'time_machine' },
    { model: 'acme/sold', field: 'tools', unpriced: 'time_machine' },
  ],
  [
    'that comes before a missing source',
    'acme/no-source',
    { unpricedField: 'x' },
    { model: 'acme/no-source', field: 'x' },
  ],
  ['a model without a price is named alone', 'acme/no-price', { unpricedField: 'x' }, { model: 'acme/no-price' }],
])('a call is refused with model_not_priced: %s', async (_what, name, change, facts) => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  expect(await admit(replica, entryOf(account.digest, name, change))).toMatchObject({
    kind: 'refused',
    code: 'model_not_priced',
    facts,
  });
});

test.each<[string, string, Partial<AdmitEntry>, RefusalCode]>([
  ['a model that is switched off', 'acme/off', { unpricedField: 'x' }, 'model_not_available'],
  ['an unknown model', 'acme/nobody', { requestedExtras: [fast] }, 'model_not_found'],
])('%s is refused with its own code', async (_what, name, change, code) => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  expect(await admit(replica, entryOf(account.digest, name, change))).toMatchObject({ kind: 'refused', code });
});

test('an unbilled endpoint needs no price', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const change = { endpoint: '/v1/messages/count_tokens', unpricedField: 'x' } as const;
  expect(await admit(replica, entryOf(account.digest, 'acme/sold', change))).toMatchObject({ kind: 'admitted' });
});

function entryOf(digest: string, name: string, change: Partial<AdmitEntry>): AdmitEntry {
  return admitEntry(replica.clock, [digest], { model: name, ...change });
}
