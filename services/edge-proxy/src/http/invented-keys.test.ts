import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { digestOfSecret, makeSecret } from '@gateway/contracts/ids';
import { chat, send, type Answer } from '../../test/client.js';
import { startEdgeWorld, TEST_KEY, type EdgeWorld } from '../../test/edge-world.js';

const PEPPER = 'pepper-'.repeat(6);
const KEYS_MAX = 50;
const INVENTED = 1_000;
const AT_ONCE = 20;
const NOBODY = { kind: 'refused' as const, code: 'invalid_api_key' as const, facts: {} };
/** Digests of the keys that admission knows. */
const issued = new Set<string>();

let world: EdgeWorld;
beforeAll(async () => {
  world = await startEdgeWorld({
    env: {
      GATEWAY_KEY_PEPPER: PEPPER,
      GATEWAY_EDGE_UNKNOWN_KEYS: String(KEYS_MAX),
      // The smallest rate, so that hardly anything is refilled during a slow test.
      GATEWAY_EDGE_UNKNOWN_KEYS_PER_MINUTE: '1',
    },
  });
  world.admission.decide = ({ id, digests }) =>
    digests.some((digest) => issued.has(digest)) ? undefined : { ...NOBODY, id };
  issue(TEST_KEY);
}, 60_000);
afterAll(() => world.stop(), 60_000);

test('unknown keys of a network reach admission up to the limit; known keys are served', async () => {
  const from = '127.0.0.1';
  expect((await call(TEST_KEY, from)).status).toBe(200);
  const askedBefore = world.admission.admits.length;
  const answers: Answer[] = [];
  const connections = Array.from({ length: AT_ONCE }, async () => {
    for (let n = 0; n < INVENTED / AT_ONCE; n += 1) answers.push(await call(makeSecret('mgw_live_'), from));
  });
  await Promise.all(connections);
  const minutes = 2;
  expect(world.admission.admits.length - askedBefore).toBeGreaterThanOrEqual(KEYS_MAX);
  expect(world.admission.admits.length - askedBefore).toBeLessThanOrEqual(KEYS_MAX + minutes);
  for (const { status } of answers) expect([401, 429]).toContain(status);

  const unasked = answers.find(({ status }) => status === 429) as Answer;
  expect(Number(unasked.headers['retry-after'])).toBeGreaterThan(0);
  expect(Number(unasked.headers['retry-after'])).toBeLessThanOrEqual(60);
  expect(unasked.body.toString()).toContain('Your network sent too many unknown API keys');
  expect(JSON.parse(unasked.body.toString())).toMatchObject({ error: { code: 'rate_limited' } });

  expect((await call(TEST_KEY, from)).status).toBe(200);
  expect((await call(issue(makeSecret('mgw_live_')), '127.0.0.2')).status).toBe(200);
}, 60_000);

test('rotated secrets do not count against the limit of their network', async () => {
  const from = '127.0.0.3';
  for (let n = 0; n < KEYS_MAX + 10; n += 1) {
    const secret = issue(makeSecret('mgw_live_'));
    expect((await call(secret, from)).status).toBe(200);
    issued.delete(digestOfSecret(secret, PEPPER));
    expect([(await call(secret, from)).status, (await call(secret, from)).status]).toEqual([401, 401]);
  }
  expect((await call(issue(makeSecret('mgw_live_')), from)).status).toBe(200);
}, 60_000);

test('repeating one unknown key counts once, and each request is refused', async () => {
  const from = '127.0.0.4';
  const wrong = makeSecret('mgw_live_');
  for (let n = 0; n < KEYS_MAX + 10; n += 1) expect((await call(wrong, from)).status).toBe(401);
  expect((await call(issue(makeSecret('mgw_live_')), from)).status).toBe(200);
}, 60_000);

test.each(['/v1/models', '/v1/gateway/usage'])(
  'unknown keys that request %s are limited too',
  async (path) => {
    const from = path === '/v1/models' ? '127.0.0.5' : '127.0.0.6';
    const { authorize, usage } = world.admission;
    const refused = { ...NOBODY, id: '01900000-0000-7000-8000-000000000000' };
    Object.assign(world.admission, { authorize: refused, usage: refused });
    const statuses: number[] = [];
    for (let n = 0; n < KEYS_MAX + 10; n += 1) {
      statuses.push((await send(world.edge.url, path, { key: makeSecret('mgw_live_'), localAddress: from })).status);
    }
    Object.assign(world.admission, { authorize, usage });
    expect(statuses.slice(0, KEYS_MAX)).toEqual(Array.from({ length: KEYS_MAX }, () => 401));
    expect(new Set(statuses.slice(KEYS_MAX + 2))).toEqual(new Set([429]));
  },
  60_000,
);

function call(key: string, localAddress: string): Promise<Answer> {
  return send(world.edge.url, '/v1/chat/completions', { ...chat(), key, localAddress });
}

function issue(key: string): string {
  issued.add(digestOfSecret(key, PEPPER));
  return key;
}
