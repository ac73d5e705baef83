import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bucketOfAccount, makeUuidV7 } from '@gateway/contracts/ids';
import { Redis } from 'ioredis';
import { findBucketKeys } from '../limit-store/key-rules.js';
import { PRICE, admit, admitEntry, batch, makeAccount, makeWorld, toMinute } from '../../test/world.js';
import type { Replica, TestAccount, World } from '../../test/world.js';

let world: World;
let one: Replica;

beforeAll(async () => {
  world = await makeWorld({ frozenAt: Date.now() });
  one = await world.replica();
});
afterAll(() => world.stop());

async function rowOf(account: TestAccount, change: Parameters<typeof admitEntry>[2] = {}) {
  const answer = await admit(one, admitEntry(one.clock, [account.digest], change));
  return answer.kind === 'refused' ? answer : answer.kind;
}

// Covers limits: rule 1 per minute counting uses
test('the minute is a clock minute and ends with its last millisecond', async () => {
  const account = makeAccount(world, { wallet: 100 * PRICE, terms: { requestsPerMinute: 2 } });
  toMinute(world, one, 1_000);
  expect(await rowOf(account)).toBe('admitted');
  expect(await rowOf(account)).toBe('admitted');
  const refused = await rowOf(account);
  expect(refused).toMatchObject({ code: 'rate_limited', facts: { limit: 2 } });
  toMinute(world, one, 0);
  expect(await rowOf(account)).toBe('admitted');
});

test('Retry-After is the rest of the minute in seconds, 1 to 60', async () => {
  const account = makeAccount(world, { wallet: 100 * PRICE, terms: { requestsPerMinute: 0 } });
  toMinute(world, one, 20);
  const early = await rowOf(account);
  expect(early).toMatchObject({ code: 'rate_limited', facts: { retryAfterSeconds: 60 } });
  world.advance(59_000);
  const late = await rowOf(account);
  expect(late).toMatchObject({ code: 'rate_limited', facts: { retryAfterSeconds: 1 } });
});

test('refused calls with an active key count toward the minute', async () => {
  const account = makeAccount(world, { wallet: 0, terms: { requestsPerMinute: 2 } });
  toMinute(world, one, 1_000);
  expect(await rowOf(account)).toMatchObject({ code: 'no_funding' });
  expect(await rowOf(account, { bodyRefusal: 'invalid_request' })).toMatchObject({
    code: 'invalid_request',
  });
  expect(await rowOf(account)).toMatchObject({ code: 'rate_limited' });
  const barred = makeAccount(world, { wallet: 0, terms: { requestsPerMinute: 1 }, key: { state: 'suspended' } });
  expect(await rowOf(barred)).toMatchObject({ code: 'key_inactive' });
  await one.admission.apply({ keys: [barred.changeKey({ state: 'active' })] });
  expect(await rowOf(barred)).toMatchObject({ code: 'no_funding' });
  expect(await rowOf(barred)).toMatchObject({ code: 'rate_limited' });
});

test('an opened call is counted once, and its admit checks the key again', async () => {
  const account = makeAccount(world, { wallet: 100 * PRICE, terms: { requestsPerMinute: 1 } });
  toMinute(world, one, 1_000);
  const id = makeUuidV7(one.clock.now());
  const { answers } = await batch(one, { opens: [{ id, digests: [account.digest] }] });
  expect(answers.get(id)).toMatchObject({ kind: 'opened', account: account.account });
  expect(await rowOf(account, { id, opened: true })).toBe('admitted');
  expect(await rowOf(account)).toMatchObject({ code: 'rate_limited' });
  await one.admission.apply({ keys: [account.changeKey({ state: 'revoked' })] });
  expect(await rowOf(account, { opened: true })).toMatchObject({ code: 'key_inactive' });
});

// Covers limits: rule 3 the dashboard playground has
test('the playground has its own limit of ten a minute', async () => {
  const account = makeAccount(world, { wallet: 100 * PRICE, terms: { requestsPerMinute: 1 } });
  const digest = 'c'.repeat(56) + '00000001';
  const playground = { ...account.keyRecord(), key: `${account.key}-play`, digest, kind: 'playground' as const };
  account.state.keys.set(playground.key, playground);
  world.owners.digests.set(digest, { account: account.account, key: playground.key });
  toMinute(world, one, 1_000);
  const rows: unknown[] = [];
  for (let call = 0; call < 11; call += 1) {
    const answer = await admit(one, admitEntry(one.clock, [digest]));
    rows.push(answer.kind === 'refused' ? answer.code : answer.kind);
  }
  expect(rows).toEqual([...Array<string>(10).fill('admitted'), 'rate_limited']);
  expect(await admit(one, admitEntry(one.clock, [digest]))).toMatchObject({ facts: { limit: 10, playground: true } });
  expect(await rowOf(account)).toBe('admitted');
  expect(await rowOf(account)).toHaveProperty('facts', { limit: 1, retryAfterSeconds: expect.any(Number) });
});

test('concurrency_limit has a Retry-After of 2 seconds', async () => {
  const account = makeAccount(world, { wallet: 100 * PRICE, terms: { concurrency: 0 } });
  expect(await rowOf(account)).toMatchObject({
    code: 'concurrency_limit',
    facts: { limit: 0, used: 0, retryAfterSeconds: 2 },
  });
});

test('a retry of a call takes no second place in a minute', async () => {
  const account = makeAccount(world, { wallet: 100 * PRICE, terms: { requestsPerMinute: 4 } });
  toMinute(world, one, 1_000);
  const ids = Array.from({ length: 4 }, () => makeUuidV7(one.clock.now()));
  const [opened = '', counted = '', refused = '', held = ''] = ids;
  for (let time = 0; time < 4; time += 1) {
    const { answers } = await batch(one, { opens: [{ id: opened, digests: [account.digest] }] });
    expect(answers.get(opened)).toMatchObject({ kind: 'opened' });
    expect(await rowOf(account, { id: counted, endpoint: '/v1/messages/count_tokens' })).toBe('admitted');
    expect(await rowOf(account, { id: refused, bodyRefusal: 'invalid_request' })).toMatchObject({
      code: 'invalid_request',
    });
    expect(await rowOf(account, { id: held })).toBe('admitted');
  }
  expect(await rowOf(account)).toMatchObject({ code: 'rate_limited' });
});

test('a rate_limited call stores nothing; notes of other calls expire', async () => {
  const account = makeAccount(world, { wallet: 0, terms: { requestsPerMinute: 3 } });
  toMinute(world, one, 1_000);
  const redis = new Redis(world.server.url);
  const holds = findBucketKeys(bucketOfAccount(account.account)).holds + account.account;
  try {
    for (let call = 0; call < 10; call += 1) await rowOf(account);
    expect(await redis.hlen(holds)).toBe(3);
    world.advance(29_000);
    await one.admission.sweep();
    expect(await redis.hlen(holds)).toBe(3);
    world.advance(2_000);
    await one.admission.sweep();
    expect(await redis.exists(holds)).toBe(0);
  } finally {
    redis.disconnect();
  }
});
