import { expect, test } from '@jest/globals';
import { ROUTE_TABLE } from './routes.js';
import { buildOpenApi } from './openapi.js';

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Record<string, { readonly links?: Record<string, Link> }>;
}
interface Link {
  readonly operationId: string;
  readonly parameters: Record<string, string>;
}

const document = buildOpenApi(ROUTE_TABLE) as unknown as { paths: Record<string, Record<string, Operation>> };
const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
const links = (operation: string, status: string): Record<string, Link> =>
  operations.find(({ operationId }) => operationId === operation)?.responses[status]?.links ?? {};

test('a created object links to the operations on it', () => {
  expect(links('createAccount', '201')).toMatchObject({
    getAccount: { operationId: 'getAccount', parameters: { id: '$response.body#/id' } },
    createKey: { parameters: { id: '$response.body#/id' } },
    addWalletEntry: { parameters: { id: '$response.body#/id' } },
  });
  expect(links('createKey', '201')).toMatchObject({ rotateKey: { parameters: { id: '$response.body#/id' } } });
  expect(links('createMember', '201')).toMatchObject({
    putMember: { parameters: { id: '$request.path.id', memberId: '$response.body#/id' } },
  });
  expect(links('putPlan', '200')).toMatchObject({ getPlan: { parameters: { id: '$request.path.id' } } });
});

test('each link names an operation and all of its path parameters', () => {
  const found = operations.flatMap(({ responses }) =>
    Object.values(responses).flatMap((one) => Object.values(one.links ?? {})),
  );
  expect(found.length).toBeGreaterThan(30);
  for (const { operationId, parameters } of found) {
    const target = operations.find((operation) => operation.operationId === operationId);
    const named = target?.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
    expect(Object.keys(parameters).sort()).toEqual([...(named ?? ['no such operation'])].sort());
  }
});
