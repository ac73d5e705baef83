import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { ERROR_CATALOGUE } from '../errors/index.js';
import { openApiDocument } from './openapi.js';

type Operations = Record<string, Record<string, { responses: Record<string, { description: string }> }>>;

const specification = readFileSync(new URL('../../specification/model-gateway-api.md', import.meta.url), 'utf8');
const document = openApiDocument();
const paths = document['paths'] as Operations;

test('docs/api/public.openapi.json matches the code (npm run generate writes it)', () => {
  const committed = readFileSync(new URL('../../../../docs/api/public.openapi.json', import.meta.url), 'utf8');
  expect(JSON.parse(committed)).toEqual(JSON.parse(JSON.stringify(document)));
});

test('the document describes every endpoint of the specification, and no other', () => {
  const specified = [...specification.matchAll(/^\| (POST|GET) \| (\/\S+) \|/gm)].map(
    ([, method, path]) => `${method} ${path}`,
  );
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(specified).toHaveLength(9);
  expect(described.sort()).toEqual(specified.sort());
});

// Covers versioning: sentence 1 the api is versioned
test('the document has the version of the specification', () => {
  const version = /interface description's version is ([\d.]+)\./.exec(specification)?.[1];
  expect(document).toMatchObject({ openapi: '3.1.0', info: { version } });
});

test('every reference points to an object', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => String(path));
  expect(references.length).toBeGreaterThan(20);
  for (const reference of references) {
    const target = reference
      .split('/')
      .reduce<unknown>((holder, name) => (holder as Record<string, unknown> | undefined)?.[name], document);
    expect([reference, typeof target]).toEqual([reference, 'object']);
  }
});

test('every error code of an endpoint is listed at one of its statuses', () => {
  const described = new Set(
    Object.values(paths).flatMap((methods) =>
      Object.values(methods).flatMap(({ responses }) =>
        Object.entries(responses).flatMap(([status, { description }]) =>
          status === '200' ? [] : description.split(', '),
        ),
      ),
    ),
  );
  const codes = Object.keys(ERROR_CATALOGUE).filter((code) => code !== 'unsupported_endpoint');
  expect([...described].sort()).toEqual(codes.sort());
});

test('the config endpoint needs no key, and the lists have no payment errors', () => {
  expect(paths['/api/gateway/config']?.['get']).toMatchObject({ security: [] });
  expect(Object.keys(paths['/v1/models']?.['get']?.responses ?? {})).toEqual(['200', '401', '403', '500']);
});
