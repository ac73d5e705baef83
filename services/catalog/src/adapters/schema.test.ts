import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { dumpSchema } from '@gateway/postgres';
import { startCatalogWorld, type CatalogWorld } from '../../test/catalog-world.js';

const GOLDEN = new URL('../../schema.golden.txt', import.meta.url);

let world: CatalogWorld;
beforeAll(async () => {
  world = await startCatalogWorld();
}, 60_000);
afterAll(() => world.stop());

test('the migrated schema is the committed one (delete schema.golden.txt to write it anew)', async () => {
  const schema = await dumpSchema(world.pool, 'catalog');
  if (!existsSync(GOLDEN) && process.env['CI'] === undefined) writeFileSync(GOLDEN, schema);
  expect(readFileSync(GOLDEN, 'utf8')).toBe(schema);
});
