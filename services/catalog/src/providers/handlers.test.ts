import { beforeAll, expect, test } from '@jest/globals';
import { duringTests } from '@gateway/testkit/during-tests';
import { startCatalogWorld } from '../../test/catalog-world.js';
import { accepted, operatorOn, type Operator } from '../../test/operator.js';
import { PROFILES } from '@gateway/contracts/providers';

const world = duringTests(startCatalogWorld);
let operator: Operator;

beforeAll(async () => {
  await world.start();
  operator = operatorOn(await world.connect('dashboard'));
});

test('listProfiles returns all profiles unchanged in one response', async () => {
  const { profiles } = await accepted(operator.listProfiles());
  expect(profiles).toEqual(PROFILES);
});
