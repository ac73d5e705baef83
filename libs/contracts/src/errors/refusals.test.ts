import { expect, test } from '@jest/globals';
import { ERROR_CATALOGUE, type ErrorCode } from './catalogue.js';
import { chatErrorBody, errorHeaders, messagesErrorBody } from './envelope.js';
import { createGatewayError, createRefusalError } from './gateway-error.js';
import { isBefore } from './refusals.js';

const context = {
  billingLinkUrl: 'https://billing.example/pay',
  chatBaseUrl: 'https://gateway.example/v1',
  messagesBaseUrl: 'https://gateway.example',
};

test('isBefore() compares places in the order of refusals', () => {
  expect(isBefore('key_expired', 'rate_limited')).toBe(true);
  expect(isBefore('rate_limited', 'rate_limited')).toBe(false);
  expect(isBefore('invalid_request', 'request_entity_too_large')).toBe(false);
});

test.each([
  'outstanding_debt',
  'no_funding',
  'tier_permission_denied',
  'insufficient_credits',
  'member_cap_reached',
  'monthly_spend_cap_exceeded',
] as const)('%s includes the billing link', (code) => {
  expect(createRefusalError(code, {}, context).message).toContain('https://billing.example/pay');
});

test('a spend cap error shows limit, used, held, worst case and reset', () => {
  const error = createRefusalError(
    'monthly_spend_cap_exceeded',
    {
      limit: 10_000_000_000,
      used: 9_500_000_000,
      held: 250_000_000,
      worst: 300_000_001,
      resetsAt: Date.UTC(2026, 11, 1),
    },
    context,
  );
  expect(error.message).toBe(
    "This request could exceed the API key's monthly spend cap. A smaller max_tokens may pass. In numbers: limit $10.00, used $9.50, " +
      "held for unsettled calls $0.25, this call's worst case $0.300000001. Resets at 2026-12-01T00:00:00.000Z. " +
      'See https://billing.example/pay',
  );
});

test('an exhausted request window counts requests and forbids a retry', () => {
  const error = createRefusalError(
    'window_exhausted',
    {
      window: 'weekly',
      unit: 'requests',
      limit: 100,
      used: 100,
      resetsAt: Date.UTC(2026, 10, 23),
      retryAfterSeconds: 7,
    },
    context,
  );
  expect(error.message).toContain('Window weekly: limit 100 requests, used 100 requests.');
  expect(errorHeaders(error)).toEqual({ 'retry-after': '7', 'x-should-retry': 'false' });
});

test('an exhausted allotment shows its renewal date', () => {
  expect(
    createRefusalError('model_limit_reached', { unit: 'usd', resetsAt: Date.UTC(2027, 0, 15) }, context).message,
  ).toContain('2027-01-15');
});

test('model_not_allowed_on_key lists the allowed models', () => {
  expect(
    createRefusalError('model_not_allowed_on_key', { allowedModels: ['openai/a', 'meta/b'] }, context).message,
  ).toContain('openai/a, meta/b');
});

test('rate_limited says "This key" and has Retry-After', () => {
  const error = createRefusalError('rate_limited', { limit: 60, retryAfterSeconds: 17 }, context);
  expect(error.message).toContain('This key');
  expect(error.message).toContain('The limit is 60 per minute. Resets in 17 s.');
  expect(errorHeaders(error)).toEqual({ 'retry-after': '17' });
});

test('rate_limited of the playground does not mention a key', () => {
  const error = createRefusalError('rate_limited', { limit: 10, retryAfterSeconds: 17, playground: true }, context);
  expect(error.message).toBe(
    'The playground has reached its requests per minute. The limit is 10 per minute. Resets in 17 s.',
  );
});

test.each([
  ['gpt-x', 'The request named "gpt-x". Model ids have the form <publisher>/<model>.'],
  ['lab/one', 'The request named "lab/one".'],
])('model_not_found includes the name %s', (model, sentence) => {
  expect(createRefusalError('model_not_found', { model }, context).message.endsWith(sentence)).toBe(true);
});

test('concurrency_limit shows how many calls run', () => {
  const error = createRefusalError('concurrency_limit', { limit: 3, used: 3, retryAfterSeconds: 2 }, context);
  expect(error.message).toContain('3 of 3 are running.');
  expect(errorHeaders(error)).toEqual({ 'retry-after': '2' });
});

test('concurrency_limit near the end of a window explains the wait', () => {
  const facts = { window: 'weekly', unit: 'usd', limit: 10_000_000_000, used: 9_800_000_000 } as const;
  const { message } = createRefusalError('concurrency_limit', facts, context);
  expect(message).toContain('Window weekly: limit $10.00, used $9.80.');
  expect(message).toContain('calls begin one at a time');
});

test.each([
  ['outstanding_debt', { available: -1_500_000_000 }, 'available $-1.50'],
  [
    'insufficient_credits',
    { available: 5, held: 7, worst: 9 },
    "available $0.000000005, held for unsettled calls $0.000000007, this call's worst case $0.000000009",
  ],
  ['insufficient_credits', { available: 0, held: 0, least: 3 }, "this call's least cost $0.000000003"],
  ['member_cap_reached', { limit: 1, used: 2, held: 3, worst: 4, resetsAt: 0 }, 'Resets at 1970-01-01T00:00:00.000Z.'],
] as const)('%s shows its amounts', (code, facts, words) => {
  expect(createRefusalError(code, facts, context).message).toContain(words);
});

test.each(['window_exhausted', 'model_limit_reached'] as const)('%s forbids a retry by client libraries', (code) => {
  expect(errorHeaders(createRefusalError(code, { retryAfterSeconds: 9 }, context))).toEqual({
    'retry-after': '9',
    'x-should-retry': 'false',
  });
});

test.each([
  [
    { unpriced: 'web_search' },
    'No price for web_search of a/b; an operator can set it. The request asks for it with "tools".',
  ],
  [{ unpriced: 'x y' }, 'No price for "x y" of a/b; an operator can set it. The request asks for it with "tools".'],
  [{}, 'No price for "tools" of a/b; an operator can set it.'],
])('model_not_priced names the part without a price: %j', (facts, text) => {
  const error = createRefusalError('model_not_priced', { model: 'a/b', field: 'tools', ...facts }, context);
  expect(error).toMatchObject({ status: 503, param: 'tools', message: text });
});

test('model_not_priced of a whole model has no param', () => {
  expect(createRefusalError('model_not_priced', { model: 'a/b' }, context)).toMatchObject({ param: null });
});

test('only three codes forbid a retry by client libraries', () => {
  const codes = Object.keys(ERROR_CATALOGUE) as ErrorCode[];
  const told = codes.filter((code) => errorHeaders(createGatewayError(code))['x-should-retry'] === 'false');
  expect(told.sort()).toEqual(['model_limit_reached', 'model_not_priced', 'window_exhausted']);
});

test('unsupported_endpoint names both base URLs and its chat error has no request ID', () => {
  const error = createRefusalError('unsupported_endpoint', {}, context);
  expect(error.message).toContain('https://gateway.example/v1');
  expect(error.message).toContain('https://gateway.example (without /v1)');
  expect(JSON.parse(chatErrorBody(error, 'id-1'))).toEqual({
    error: { message: error.message, type: 'invalid_request_error', code: 'unsupported_endpoint', param: null },
  });
  expect(JSON.parse(messagesErrorBody(error, 'id-1'))).toMatchObject({ request_id: 'id-1' });
});

test('chatErrorBody() formats the chat envelope', () => {
  expect(
    JSON.parse(chatErrorBody(createGatewayError('model_not_found', 'No such model.', { param: 'model' }), 'id-2')),
  ).toEqual({
    error: {
      message: 'No such model.',
      type: 'invalid_request_error',
      code: 'model_not_found',
      param: 'model',
      request_id: 'id-2',
    },
  });
});

test('messagesErrorBody() formats an error of the messages endpoints', () => {
  expect(JSON.parse(messagesErrorBody(createGatewayError('insufficient_credits', 'Too little.'), 'id-3'))).toEqual({
    type: 'error',
    error: {
      type: 'billing_error',
      message: 'Too little.',
      code: 'insufficient_credits',
      details: { error_code: 'insufficient_credits' },
    },
    request_id: 'id-3',
  });
});

test('upstream_error keeps status 529 and is an overloaded_error on messages', () => {
  const error = createGatewayError('upstream_error', undefined, { status: 529 });
  expect(error.status).toBe(529);
  expect(JSON.parse(messagesErrorBody(error, 'id'))).toMatchObject({ error: { type: 'overloaded_error' } });
});
