import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { ROUTE_TABLE } from './routes.js';
import { buildOpenApi } from './openapi.js';

const document = buildOpenApi(ROUTE_TABLE);
const { schemas } = document.components as { schemas: Record<string, Schema> };
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'operator', components: { schemas } });

interface Schema {
  readonly examples?: readonly unknown[];
}

/** Returns every schema of the document that has examples. */
function withExamples(value: unknown): Schema[] {
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.entries(value).flatMap(([key, member]) => (key === 'examples' ? [] : withExamples(member)));
  return Array.isArray((value as Schema).examples) ? [value as Schema, ...below] : below;
}

test('docs/api/operator.openapi.json matches the routes (npm run generate writes it)', () => {
  const committed = readFileSync(new URL('../../../../docs/api/operator.openapi.json', import.meta.url), 'utf8');
  expect(JSON.parse(committed)).toEqual(JSON.parse(JSON.stringify(document)));
});

test('each example is valid under the schema that has it', () => {
  const found = withExamples(document);
  expect(found.length).toBeGreaterThan(25);
  for (const schema of found) {
    const here = JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"operator#/components/')) as object;
    for (const example of schema.examples ?? []) {
      expect({ example, taken: ajv.validate(here, example) }).toEqual({ example, taken: true });
    }
  }
});

test('each object in a request has an example', () => {
  const sent = Object.entries(schemas).filter(([name]) => /(?:Create|Put|Spec)$/.test(name));
  expect(sent.length).toBeGreaterThan(10);
  const without = sent.filter(([, { examples }]) => examples === undefined).map(([name]) => name);
  expect(without).toEqual(['PricesSpec']);
});
