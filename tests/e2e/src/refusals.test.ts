import { afterAll, expect, test } from '@jest/globals';
import { DEFAULT_KEY_PREFIX, makeSecret } from '@gateway/contracts/ids';
import { startProviderSimulator } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { HELLO, chat } from '../test/call.js';
import type { TestResponse } from '../test/call.js';
import { connectRedis, isEmpty, readLimitStore } from '../test/limit-store.js';
import { sharedSystem } from '../test/system.js';

/** The price is per request only, so hold and charge are the same cent. */
const CENT = { inputPerMillion: '0', outputPerMillion: '0', perCall: '0.01' };
const CLIENT_REQUEST_ID = 'client-chosen/42';

const system = sharedSystem();
const simulator = await startProviderSimulator();
const redis = connectRedis(system.redisUrl);
const { id: model } = await system.operator.model(CENT, [simulator.urls[0]]);
afterAll(async () => {
  redis.disconnect();
  await simulator.close();
});

function call(secret: string | null, fields: Record<string, unknown> = {}): Promise<TestResponse> {
  const headers = { 'x-request-id': CLIENT_REQUEST_ID };
  return chat(`${system.chatBaseUrl}/chat/completions`, secret, { model, messages: HELLO, ...fields }, headers);
}

interface ChatError {
  readonly code: string;
  readonly type: string;
  readonly message: string;
}

const ABOUT_THE_MODEL = new Set(['model_not_found', 'model_not_allowed_on_key']);

/**
 * Expects both ID headers, the same ID in the body, and the error type of the code. Returns the
 * error.
 */
function refused(answer: TestResponse, status: number, code: string, type: string): ChatError {
  const { error } = JSON.parse(answer.text) as { error: ChatError };
  const param = ABOUT_THE_MODEL.has(code) ? 'model' : null;
  expect([answer.status, error]).toEqual([
    status,
    { message: expect.any(String), type, code, param, request_id: answer.requestId },
  ]);
  expect(answer.requestId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/);
  expect(answer.headers['x-request-id']).toBe(CLIENT_REQUEST_ID);
  if (status !== 429) expect(answer.headers['retry-after']).toBeUndefined();
  return error;
}

async function expectNothingHeld(account: string): Promise<void> {
  await until('nothing is held', async () => isEmpty(await readLimitStore(redis, account)));
}

test('401 for a missing, unknown or malformed key', async () => {
  refused(await call(null), 401, 'missing_api_key', 'authentication_error');
  for (const secret of [
    makeSecret(DEFAULT_KEY_PREFIX),
    `mgw_live_${'0'.repeat(48)}`,
    'mgw_live_short',
    'sk-something-else',
  ]) {
    const { message } = refused(await call(secret), 401, 'invalid_api_key', 'authentication_error');
    expect(message).not.toContain(secret);
  }
});

test('402 no_funding for an empty wallet', async () => {
  const { account, secret } = await system.operator.account('0.01');
  const paid = await call(secret);
  expect(paid.status).toBe(200);
  await system.operator.record(paid.requestId);
  await expectNothingHeld(account);
  const { message } = refused(await call(secret), 402, 'no_funding', 'insufficient_quota');
  expect(message).toContain('/billing');
  expect(await system.operator.walletUsd(account)).toBe('0.00');
  await expectNothingHeld(account);
});

test('402 outstanding_debt for a balance below zero', async () => {
  const { account, secret } = await system.operator.account('0.01');
  await system.operator.credit(account, '-0.02');
  const { message } = refused(await call(secret), 402, 'outstanding_debt', 'insufficient_quota');
  expect(message).toContain('/billing');
  await expectNothingHeld(account);
});

test('402 insufficient_credits for a wallet below the worst case', async () => {
  const { account, secret } = await system.operator.account('0.009999999');
  refused(await call(secret), 402, 'insufficient_credits', 'insufficient_quota');
  await expectNothingHeld(account);
});

test('403 model_not_allowed_on_key names the allowed models', async () => {
  const allowed = await system.operator.model(CENT, [simulator.urls[0]]);
  const { account, secret } = await system.operator.account('5.00', { allowedModels: [allowed.id] });
  const { message } = refused(await call(secret), 403, 'model_not_allowed_on_key', 'permission_denied_error');
  expect(message).toContain(allowed.id);
  expect((await call(secret, { model: allowed.id })).status).toBe(200);
  await expectNothingHeld(account);
});

test('403 monthly_spend_cap_exceeded if the rest of the cap is below the worst case', async () => {
  const { account, secret } = await system.operator.account('5.00', { capUsd: '0.015' });
  const paid = await call(secret);
  expect(paid.status).toBe(200);
  // The first request counts, whether it is held or settled.
  const { message } = refused(await call(secret), 403, 'monthly_spend_cap_exceeded', 'permission_denied_error');
  expect(message).toContain('0.015');
  await system.operator.record(paid.requestId);
  refused(await call(secret), 403, 'monthly_spend_cap_exceeded', 'permission_denied_error');
  const other = await system.operator.key(account);
  expect((await call(other.secret)).status).toBe(200);
  await expectNothingHeld(account);
});

test('404 model_not_found for an unknown model', async () => {
  const { account, secret } = await system.operator.account('5.00');
  refused(await call(secret, { model: 'nobody/nothing' }), 404, 'model_not_found', 'invalid_request_error');
  await expectNothingHeld(account);
});

test('429 concurrency_limit has Retry-After 2, and a released slot is free again', async () => {
  const { account, secret } = await system.operator.account('5.00');
  await system.operator.limits(account, 1_000, 1);
  const slow = await system.operator.model(CENT, [simulator.urls[0]]);
  const upstream = `up-${slow.id.slice(5)}`;
  simulator.script({ model: upstream, steps: [{ waitFor: upstream }, { usage: { input: 1, output: 1 } }] });
  const running = call(secret, { model: slow.id });
  await until('the provider has the first request', () => simulator.calls({ model: upstream }).length === 1);
  const second = await call(secret);
  refused(second, 429, 'concurrency_limit', 'rate_limit_error');
  expect(second.headers['retry-after']).toBe('2');
  simulator.release(upstream);
  expect((await running).status).toBe(200);
  await expectNothingHeld(account);
  expect((await call(secret)).status).toBe(200);
  await expectNothingHeld(account);
});

test('429 rate_limited has the seconds left in the minute, and refused calls count', async () => {
  const { account, secret } = await system.operator.account('5.00');
  await system.operator.limits(account, 1, 3);
  // The minute may end between two requests, but two of the three are always in the same minute.
  const answers = [await call(secret, { model: 'nobody/nothing' }), await call(secret), await call(secret)];
  const limited = answers.find(({ status }) => status === 429);
  if (limited === undefined) throw new Error(`no call was limited: ${answers.map(({ status }) => status).join()}`);
  const { message } = refused(limited, 429, 'rate_limited', 'rate_limit_error');
  expect(message).toMatch(/this key/i);
  expect(String(limited.headers['retry-after'])).toMatch(/^([1-9]|[1-5]\d|60)$/);
  await expectNothingHeld(account);
});
