import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { digestOfSecret, makeSecret } from '@gateway/contracts/ids';
import { chat, send, type Answer } from '../../test/client.js';
import { startEdgeWorld, TEST_KEY, type EdgeWorld } from '../../test/edge-world.js';

const PATH = '/v1/chat/completions';
const LISTS = ['/v1/models', '/v1/gateway/usage'] as const;
const PEPPER = 'pepper-'.repeat(6);
const GOOD_KEY = makeSecret('mgw_live_');
const GOOD_DIGESTS = new Set([TEST_KEY, GOOD_KEY].map((key) => digestOfSecret(key, PEPPER)));
const INVENTED = 200;

let world: EdgeWorld;
beforeAll(async () => {
  world = await startEdgeWorld({ env: { GATEWAY_KEY_PEPPER: PEPPER } });
  world.gate.decide = ({ id, digests }) =>
    digests.some((digest) => GOOD_DIGESTS.has(digest)) ? undefined : { kind: 'refused', id, row: 4, facts: {} };
}, 60_000);
afterAll(() => world.stop(), 60_000);

const call = (key: string, localAddress: string): Promise<Answer> =>
  send(world.edge.url, PATH, { ...chat(), key, localAddress });

/** What a network of invented keys may ask in so many milliseconds: its burst, its look-ups, and what comes back of both. */
const boundOf = (ms: number): number => 30 + 5 + Math.ceil((ms / 1_000) * 5.5);

test('invented keys of one network ask admission a bounded number of times; good keys are served, other networks notice nothing', async () => {
  expect((await call(TEST_KEY, '127.0.0.1')).status).toBe(200);
  const [asked, begun] = [world.gate.admits.length, performance.now()];
  const statuses: number[] = [];
  const known: number[] = [];
  for (let each = 0; each < INVENTED; each += 1) {
    const answer = await call(makeSecret('mgw_live_'), '127.0.0.1');
    statuses.push(answer.status);
    if (answer.status !== 401) expect(codeOf(answer)).toBe('lookup_failed');
    if (each % 20 === 0) known.push((await call(TEST_KEY, '127.0.0.1')).status);
  }
  const ms = performance.now() - begun;
  expect(known).toEqual(known.map(() => 200));
  expect(world.gate.admits.length - asked - known.length).toBeLessThanOrEqual(boundOf(ms));
  expect(statuses.slice(0, 30)).toEqual(statuses.slice(0, 30).map(() => 401));
  expect(new Set(statuses)).toEqual(new Set([401, 500]));

  expect((await call(makeSecret('mgw_live_'), '127.0.0.2')).status).toBe(401);
  const retried = await retriedCall(GOOD_KEY, '127.0.0.1');
  expect(retried.ms).toBeLessThan(2_000);
  expect(retried.refusals.every((code) => code === 'lookup_failed')).toBe(true);
}, 60_000);

test.each(LISTS)(
  'invented keys that ask for %s are bounded too; a key that the list of models confirmed is known',
  async (path) => {
    const localAddress = `127.0.0.${3 + LISTS.indexOf(path)}`;
    const ask = (key: string): Promise<Answer> => send(world.edge.url, path, { key, localAddress });
    const usual = world.gate.authorize;
    const good = makeSecret('mgw_live_');
    if (path === '/v1/models') expect((await ask(good)).status).toBe(200);
    const refused = { kind: 'refused' as const, id: '01900000-0000-7000-8000-000000000000', row: 4, facts: {} };
    [world.gate.authorize, world.gate.usage] = [refused, refused];
    const begun = performance.now();
    const answers: Answer[] = [];
    for (let each = 0; each < INVENTED; each += 1) answers.push(await ask(makeSecret('mgw_live_')));
    const refusals = answers.filter(({ status }) => status === 401).length;
    expect(refusals).toBeLessThanOrEqual(boundOf(performance.now() - begun));
    for (const answer of answers) if (answer.status !== 401) expect(codeOf(answer)).toBe('lookup_failed');
    [world.gate.authorize, world.gate.usage] = [usual, null];
    if (path === '/v1/models') expect((await ask(good)).status).toBe(200);
  },
  60_000,
);

/** Tries again until the call is served, at most 1,000 times. */
async function retriedCall(key: string, localAddress: string): Promise<{ ms: number; refusals: string[] }> {
  const begun = performance.now();
  const refusals: string[] = [];
  for (let tries = 0; tries < 1_000; tries += 1) {
    const answer = await call(key, localAddress);
    if (answer.status === 200) return { ms: performance.now() - begun, refusals };
    refusals.push(codeOf(answer));
  }
  throw new Error('the call was never served');
}

function codeOf({ body }: Answer): string {
  return (JSON.parse(body.toString()) as { error: { code: string } }).error.code;
}
