import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { makeUuidV7, secretFrom } from '@gateway/contracts/ids';
import { BusFault } from '@gateway/bus';
import { ACCOUNT, EXAMPLES, KEY, OPERATOR, type Example } from '../../test/examples.js';
import { errorOf, startOperatorWorld, type OperatorWorld } from '../../test/operator-world.js';

const COMMAND = makeUuidV7(Date.UTC(2026, 10, 20));
const headers = { 'idempotency-key': 'once' };

interface Kept {
  fingerprint: string;
  status?: number;
  body?: string;
}
let world: OperatorWorld;
let kept: Map<string, Kept>;
beforeAll(async () => {
  world = await startOperatorWorld();
});
afterAll(() => world.stop());
beforeEach(() => {
  world.reset();
  kept = new Map();
  const nameOf = (body: unknown): string =>
    JSON.stringify([(body as { operator: string }).operator, (body as { idempotencyKey: string }).idempotencyKey]);
  world.scriptByName('accounts.begin-idempotent', (body) => {
    const { fingerprint } = body as Kept;
    const found = kept.get(nameOf(body)) ?? { fingerprint };
    kept.set(nameOf(body), found);
    if (found.fingerprint !== fingerprint) return { kind: 'conflict' };
    return found.status === undefined
      ? { kind: 'begun', command: COMMAND }
      : { kind: 'done', status: found.status, body: found.body };
  });
  world.scriptByName('accounts.end-idempotent', (body) => {
    const { fingerprint, status, body: text } = body as Required<Kept>;
    kept.set(nameOf(body), { fingerprint, status, body: text });
    return { stored: true };
  });
  world.scriptByName('accounts.create-key', () => ({ key: KEY, repeated: false }));
  world.scriptByName('accounts.rotate-key', () => ({ key: KEY, repeated: false, inForce: true }));
  world.scriptByName('accounts.create-account', () => ({ account: ACCOUNT }));
  world.scriptByName('accounts.create-operator', () => ({ operator: OPERATOR, repeated: false }));
});
const asked = (name: string): unknown[] => world.asked.filter((one) => one.name === name).map(({ body }) => body);

test.each([
  ['/accounts/acc_1/keys', { name: 'first' }, 'accounts.create-key', 'secret', 201],
  ['/keys/key_1/rotate', undefined, 'accounts.rotate-key', 'secret', 200],
  ['/operators', { name: 'grace', role: 'admin' }, 'accounts.create-operator', 'token', 201],
])('%s repeated returns the same without the secret and runs once', async (path, body, verb, field, status) => {
  const first = await world.send('POST', path, { body, headers });
  expect(first.status).toBe(status);
  expect(first.headers.get('idempotent-replayed')).toBeNull();
  const again = await world.send('POST', path, { body, headers });
  expect(again.status).toBe(status);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect(first.body[field]).toMatch(/_[0-9a-f]{48}$/);
  expect(again.body).toEqual({ ...first.body, [field]: null });
  expect(asked(verb)).toEqual([expect.objectContaining({ command: COMMAND })]);
  expect(JSON.stringify(world.asked)).not.toContain(first.body[field]);
});

test('reordered members are the same request; another body, path or query conflicts', async () => {
  await world.send('POST', '/accounts', { body: '{"name":"Ada","email":"a@example.com"}', headers });
  const same = await world.send('POST', '/accounts', { body: '{"email":"a@example.com", "name":"Ada"}', headers });
  expect(same.headers.get('idempotent-replayed')).toBe('true');
  const others: [string, unknown][] = [
    ['/accounts', { name: 'Bob', email: 'a@example.com' }],
    ['/keys/key_1/rotate', undefined],
    ['/apply?dryRun=true', { objects: [] }],
  ];
  for (const [path, body] of others) {
    const other = await world.send('POST', path, { body, headers });
    expect([other.status, errorOf(other).code]).toEqual([409, 'idempotency_conflict']);
  }
  expect(asked('accounts.create-account')).toHaveLength(1);
});

test('idempotency keys belong to an operator', async () => {
  const body = { name: 'Ada', email: 'a@example.com' };
  const token = secretFrom('mgo_', 'a'.repeat(40));
  world.scriptByName('accounts.find-operator', () => ({ operator: OPERATOR }));
  await world.send('POST', '/accounts', { body, headers });
  const other = await world.send('POST', '/accounts', { body: { ...body, name: 'Bob' }, headers, token });
  expect(other.status).toBe(201);
  expect([...kept.keys()]).toEqual(['["root","once"]', '["opr_1","once"]']);
});

test("a refusal is stored and returned under the new request's ID", async () => {
  world.refuseByName('accounts.create-key', 'no_funding');
  const first = await world.send('POST', '/accounts/acc_1/keys', { body: { name: 'k' }, headers });
  world.scriptByName('accounts.create-key', () => ({ key: KEY, repeated: false }));
  const again = await world.send('POST', '/accounts/acc_1/keys', { body: { name: 'k' }, headers });
  expect([first.status, again.status]).toEqual([402, 402]);
  expect(errorOf(again)).toEqual({ ...errorOf(first), request_id: again.headers.get('x-gateway-request-id') });
  expect(errorOf(again).request_id).not.toBe(errorOf(first).request_id);
});

test('not_in_force and faults are not stored; a repetition has the same command', async () => {
  world.refuseByName('accounts.rotate-key', 'not_in_force');
  expect((await world.send('POST', '/keys/key_1/rotate', { headers })).status).toBe(503);
  world.scriptByName('accounts.rotate-key', () => {
    throw new BusFault('timeout', 'slow');
  });
  expect((await world.send('POST', '/keys/key_1/rotate', { headers })).status).toBe(503);
  world.scriptByName('accounts.rotate-key', () => ({ key: KEY, repeated: true, inForce: true }));
  const done = await world.send('POST', '/keys/key_1/rotate', { headers });
  expect([done.status, done.body['secret']]).toEqual([200, null]);
  expect(new Set(asked('accounts.rotate-key').map((body) => (body as { command: string }).command))).toEqual(
    new Set([COMMAND]),
  );
});

test('a 429 is not stored; a repetition is refused with Retry-After or runs', async () => {
  const example = EXAMPLES['testSource'] as Example;
  for (const [name, answer] of Object.entries(example.answers)) world.scriptByName(name, () => answer);
  world.refuseByName('edge.test-source', 'too_many_attempts');
  for (const _again of [1, 2]) {
    const refused = await world.send('POST', example.path, { headers });
    expect([refused.status, refused.headers.get('idempotent-replayed')]).toEqual([429, null]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  world.scriptByName('edge.test-source', () => example.answers['edge.test-source']);
  expect((await world.send('POST', example.path, { headers })).status).toBe(200);
});

test('the secret next to a refusal is not stored', async () => {
  world.scriptByName('accounts.rotate-key', () => ({ key: KEY, repeated: false, inForce: false }));
  const first = await world.send('POST', '/keys/key_1/rotate', { headers });
  expect(first.body['key']).toMatchObject({ secret: expect.stringMatching(/^new_live_/) });
  world.scriptByName('accounts.rotate-key', () => ({ key: KEY, repeated: true, inForce: true }));
  const again = await world.send('POST', '/keys/key_1/rotate', { headers });
  expect([again.status, again.body['secret']]).toEqual([200, null]);
});

test('a response that cannot be stored is still sent', async () => {
  world.scriptByName('accounts.end-idempotent', () => {
    throw new BusFault('timeout', 'slow');
  });
  const answer = await world.send('POST', '/keys/key_1/rotate', { headers });
  expect(answer.status).toBe(200);
  expect(answer.body['secret']).toMatch(/^new_live_/);
});

test('a request whose idempotency key cannot be stored does not run', async () => {
  world.away('accounts');
  const answer = await world.send('POST', '/accounts', { body: { name: 'A', email: 'a@example.com' }, headers });
  expect(answer.status).toBe(503);
  expect(asked('accounts.create-account')).toEqual([]);
});

test('an invalid request or a key above 255 characters does not begin', async () => {
  expect((await world.send('POST', '/accounts', { body: {}, headers })).status).toBe(400);
  const long = await world.send('POST', '/keys/key_1/rotate', { headers: { 'idempotency-key': 'x'.repeat(256) } });
  expect([long.status, errorOf(long).param]).toEqual([400, 'Idempotency-Key']);
  expect(world.asked).toEqual([]);
});

test('DELETE ignores an idempotency key', async () => {
  world.scriptByName('catalog.delete', () => ({ revision: 1, inForce: true }));
  expect((await world.send('DELETE', '/providers/prov', { headers })).status).toBe(204);
  expect(asked('accounts.begin-idempotent')).toEqual([]);
});
