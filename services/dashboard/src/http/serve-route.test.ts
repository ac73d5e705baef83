import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { secretFrom } from '@gateway/contracts/ids';
import { OPERATOR_ERRORS, OPERATOR_ROLES, type OperatorErrorCode } from '@gateway/contracts/operator';
import { EXAMPLES, type Example } from '../../test/examples.js';
import { makeDocumentCheck } from '../../test/document-check.js';
import { errorOf, startOperatorWorld, type Answer, type OperatorWorld } from '../../test/operator-world.js';
import { ROLES_BY_ACCESS } from '../operator-api/access.js';
import { ROUTE_TABLE } from '../operator-api/routes.js';
import type { OperatorRoute } from '../operator-api/route.js';

let world: OperatorWorld;
let check: (route: OperatorRoute, answer: Answer) => void;
beforeAll(async () => {
  world = await startOperatorWorld();
  check = makeDocumentCheck((await world.send('GET', '/openapi.json', { token: null })).body);
});
afterAll(() => world.stop());
beforeEach(() => world.reset());

const exampleOf = (route: OperatorRoute): Example => {
  const example = EXAMPLES[route.id];
  if (example === undefined) throw new Error(`no example of ${route.id}`);
  return example;
};
const rows = ROUTE_TABLE.map((route) => [`${route.method} ${route.path}`, route, exampleOf(route)] as const);
const TOKEN = secretFrom('mgo_', 'a'.repeat(40));

const scriptAnswers = (example: Example): void => {
  for (const [name, answer] of Object.entries(example.answers)) world.scriptByName(name, () => answer);
};
const asOperator = (role: string): void =>
  world.scriptByName('accounts.find-operator', () => ({
    operator: { id: 'opr_2', name: 'someone', role, createdAt: '2026-11-20T12:00:00.000Z', createdBy: 'operator:root' },
  }));
const expectError = (answer: Answer, code: OperatorErrorCode): void => {
  expect({ status: answer.status, code: errorOf(answer).code }).toEqual({ status: OPERATOR_ERRORS[code], code });
  expect(errorOf(answer).request_id).toBe(answer.headers.get('x-gateway-request-id'));
};

test('each route has one example and a unique ID', () => {
  expect(new Set(ROUTE_TABLE.map(({ id }) => id)).size).toBe(ROUTE_TABLE.length);
  expect(Object.keys(EXAMPLES).sort()).toEqual(ROUTE_TABLE.map(({ id }) => id).sort());
});

test.each(rows)('%s answers as the route table and the document declare', async (_name, route, example) => {
  scriptAnswers(example);
  const answer = await world.send(route.method, example.path, { body: example.body });
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: example.status });
  if (example.expected !== undefined) expect(answer.body).toEqual(example.expected);
  expect(answer.headers.get('x-gateway-request-id')).toMatch(/^[0-9a-f-]{14}-?7/);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  check(route, answer);
  expect(world.asked.map(({ name }) => name).filter((name) => !(name in example.answers))).toEqual([]);
});

test.each(rows)('%s without a token gets 401 and calls no service', async (_name, route, example) => {
  for (const token of [null, 'wrong', `mgo_${'A'.repeat(48)}`]) {
    const answer = await world.send(route.method, example.path, { token, body: example.body });
    expectError(answer, 'invalid_operator_token');
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    check(route, answer);
  }
  expect(world.asked).toEqual([]);
});

test.each(rows)('%s allows exactly the roles of its access', async (_name, route, example) => {
  scriptAnswers(example);
  for (const role of OPERATOR_ROLES) {
    asOperator(role);
    world.asked.length = 0;
    world.noted.length = 0;
    const headers = { 'user-agent': 'a program' };
    const answer = await world.send(route.method, example.path, { token: TOKEN, body: example.body, headers });
    if (route.id === 'apply' && role === 'finance') {
      // The dry run shows that the example changes more than prices and plans.
      expectError(answer, 'operator_forbidden');
    } else if (ROLES_BY_ACCESS[route.access].includes(role)) {
      expect([role, answer.status]).toEqual([role, example.status]);
      const commands = world.asked.flatMap(({ body }) => ('author' in body ? [body['author']] : []));
      const authors = [...commands, ...world.noted.map(({ actor, origin }) => ({ actor, origin }))];
      const requestId = answer.headers.get('x-gateway-request-id');
      const origin = { client: '127.0.0.1', agent: 'a program', requestId };
      for (const author of authors) expect(author).toEqual({ actor: 'operator:someone', origin });
      // Exports are recorded, too.
      expect(authors.length > 0).toBe(route.method !== 'GET' || route.id.startsWith('export'));
    } else {
      expectError(answer, 'operator_forbidden');
      expect(world.asked.map(({ name }) => name)).toEqual(['accounts.find-operator']);
      check(route, answer);
    }
  }
});

test.each(rows.filter(([, { method }]) => method !== 'GET'))(
  '%s with a malformed body gets 400',
  async (_name, route, example) => {
    const bodies: [unknown, string | null][] = [
      ['{"name": ', null],
      ['[1]', null],
      [{ ...(example.body as object), nonsense: 1 }, 'nonsense'],
    ];
    if (route.bodyForm === 'document') bodies[1] = ['["x"]', 'objects[0]'];
    for (const [body, param] of bodies) {
      const answer = await world.send(route.method, example.path, { body });
      expectError(answer, 'invalid_request');
      expect(errorOf(answer).param).toBe(param);
      check(route, answer);
    }
    expect(world.asked).toEqual([]);
  },
);

test.each(rows.filter(([, { body }]) => body !== null))('%s without a body gets 400', async (_name, route, example) => {
  expectError(await world.send(route.method, example.path), 'invalid_request');
});

test.each(rows)('%s passes on each refusal of its service', async (_name, route, example) => {
  scriptAnswers(example);
  const verb = Object.keys(example.answers).at(-1) as string;
  const passing = ['billing.wallet'].includes(verb) ? [] : [...(route.refusals ?? []), 'not_found' as const];
  for (const code of passing) {
    world.refuseByName(verb, code);
    const answer = await world.send(route.method, example.path, { body: example.body });
    expectError(answer, code);
    expect(errorOf(answer).message).toContain(`scripted ${code}`);
    check(route, answer);
  }
});

/** Returns the service that serves a message. */
function serviceOf(message: string): 'accounts' | 'edge-proxy' {
  return message.startsWith('edge.') ? 'edge-proxy' : (message.split('.')[0] as 'accounts');
}

// Covers PostgreSQL is down
test.each(rows)('%s gets 503 while a service is away, never 401', async (_name, route, example) => {
  for (const service of new Set(Object.keys(example.answers).map(serviceOf))) {
    world.reset();
    scriptAnswers(example);
    asOperator('admin');
    world.away(service);
    const answer = await world.send(route.method, example.path, { body: example.body, token: TOKEN });
    expectError(answer, 'dependency_unavailable');
    expect(answer.text).not.toContain('is away');
    check(route, answer);
  }
});

const NOBODY = '00000000-0000-4000-8000-000000000000';
test.each(rows.filter(([, { path }]) => path.includes('{')))('%s refuses an impossible ID', async (_name, route) => {
  const path = route.path
    .replace('{publisher}/{model}', 'no-slash')
    .replace('{alias}', 'not%20one')
    .replace(/\{(requestId)\}/g, NOBODY)
    .replace(/\{\w+\}/g, '-bad');
  const answer = await world.send(route.method, path, route.method === 'GET' ? {} : { body: {} });
  expectError(answer, route.method === 'PUT' ? 'invalid_request' : 'not_found');
  expect(world.asked).toEqual([]);
});
