import { beforeAll, expect, test } from '@jest/globals';
import { catalogGetPriceProposal, catalogProposePrices } from '@gateway/contracts/messages';
import type { PriceProposalPut } from '@gateway/contracts/operator';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { startCatalogWorld } from '../../test/catalog-world.js';
import { accepted, operatorOn } from '../../test/operator.js';
import { AUTHOR } from '../../test/specs.js';

const world = duringTests(startCatalogWorld);
type Connection = Awaited<ReturnType<typeof world.connect>>;
let bus: Connection;

beforeAll(async () => {
  const replicas = [await world.start(), await world.start()];
  for (const replica of replicas) await until('ready', () => replica.ready.report().ready);
  bus = await world.connect('dashboard');
});

const change = (objectId: string, input: string): PriceProposalPut['changes'][number] => ({
  kind: 'source',
  objectId,
  modelId: 'acme/one',
  before: { inputPerMillion: '1.00', outputPerMillion: '4.00' },
  after: { inputPerMillion: input, outputPerMillion: '4.00' },
});
const NONE: PriceProposalPut = { lists: ['litellm of 2026-11-20'], changes: [], reported: [] };
const propose = async (proposal: Partial<PriceProposalPut>) =>
  (await accepted(bus.request(catalogProposePrices, { proposal: { ...NONE, ...proposal }, author: AUTHOR }))).proposal;
const stored = () => bus.request(catalogGetPriceProposal, {});

test('a proposal raises an alert once, until its content changes', async () => {
  expect(await stored()).toMatchObject({ refused: { code: 'not_found' } });
  expect((await propose({})).outcome).toBe('unchanged');
  const changes = [change('a', '2.00'), change('b', '3.00')];
  const first = await propose({ changes });
  expect(first).toMatchObject({ outcome: 'raised', changes, scheduledFor: null });
  const again = await propose({ changes: changes.toReversed(), lists: ['litellm of 2026-11-21'] });
  expect(again).toMatchObject({ outcome: 'unchanged', id: first.id, raisedAt: first.raisedAt });
  expect(Date.parse(again.checkedAt)).toBeGreaterThanOrEqual(Date.parse(first.checkedAt));
  expect((await propose({ changes: [change('a', '2.01'), change('b', '3.00')] })).outcome).toBe('raised');
  expect((await propose({})).outcome).toBe('cleared');
  expect((await propose({})).outcome).toBe('unchanged');
  expect((await propose({ changes })).outcome).toBe('raised');
  const { outcome: _outcome, ...view } = await propose({ changes });
  expect(await stored()).toEqual({ proposal: view });
  // Each changed proposal is in the audit log with its author. A repeated one is not.
  const { entries } = await accepted(operatorOn(bus).audit({ object: 'price-proposal' }));
  expect(entries.map(({ action, after }) => [action, after])).toEqual([
    ['propose_prices', { proposal: first.id }],
    ['propose_prices', { proposal: expect.any(String) }],
    ['propose_prices', { proposal: expect.any(String) }],
    ['propose_prices', { proposal: first.id }],
  ]);
});

test('a reported cost alerts again only when its difference changes direction', async () => {
  const reported = (computedUsd: string, reportedUsd: string) => [
    { sourceId: 'a', modelId: 'acme/one', requests: 30, computedUsd, reportedUsd },
  ];
  expect((await propose({ reported: reported('1.00', '1.10') })).outcome).toBe('raised');
  const next = await propose({ reported: reported('9.00', '9.95') });
  expect(next).toMatchObject({ outcome: 'unchanged', reported: [{ computedUsd: '9.00' }] });
  expect((await propose({ reported: reported('9.00', '8.00') })).outcome).toBe('raised');
});

test('one replica handles a time of the schedule, and later times are handled again', async () => {
  const scheduledFor = '2026-11-20T06:00:00.000Z';
  const both = await Promise.all(
    ['2.00', '2.50'].map((input) => propose({ changes: [change('c', input)], scheduledFor })),
  );
  expect(both.map(({ outcome }) => outcome).sort()).toEqual(['raised', 'served']);
  expect(both[0]?.id).toBe(both[1]?.id);
  expect((await propose({ changes: [change('c', '7.00')], scheduledFor })).outcome).toBe('served');
  const next = await propose({ changes: both[0]?.changes ?? [], scheduledFor: '2026-11-21T06:00:00Z' });
  expect(next).toMatchObject({ outcome: 'unchanged', scheduledFor: '2026-11-21T06:00:00.000Z' });
});
