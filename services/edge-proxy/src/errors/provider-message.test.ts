import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { PROVIDER_MESSAGE_LENGTH_MAX, cleanMessage } from './provider-message.js';

/**
 * Timeout of a property test. It takes up to 1 s on an idle machine; a busy one must not fail it.
 */
const PROPERTY_MS_MAX = 60_000;

test.each([
  'Incorrect API key provided: sk-proj-************************************abcd.',
  'Incorrect API key provided: SECRET12*******7890',
  'bad key sk-ant-api03-SECRET1234567890-abc',
  'bad key sk-SECRET',
  'Authorization: Bearer SECRET.part-two_3',
  'Authorization: Basic SECRETU6cGFzcw==',
  '{"api_key": "SECRET"}',
  'api-key=SECRET&x=1',
  'token: SECRET',
  'password = SECRET',
  'key AIzaSECRETabcdefghijklmnopqrstuv is blocked',
  'key AKIASECRET0123456789',
  'key gsk_SECRETabcdef',
  'key hf_SECRETabcdef',
  'key mgw_live_SECRETabcdef0123456789',
  'token eyJSECRET.eyJzdWIiOiIxIn0.sig-natur_e',
  'fingerprint SECRET0123456789abcdef0123456789',
  'see https://api.SECRET.example/v1/keys?x=y for help',
  'see http://10.0.0.7:8080/SECRET',
  'post to wss://SECRET.internal/x failed',
  'host SECRET.openai.azure.com refused',
  'host us-east.SECRET.io:443 refused',
  'host SECRET.svc.cluster.local refused',
  'mail SECRET@example.com',
  'Rate limit for org-SECRETabcdef on requests',
  'project proj_SECRETabcdef has no access',
  "organization 'SECRET42' is over its quota",
  'Organization: SECRET42 is disabled',
  'tenant id SECRET-42 not found',
  'user-SECRETabcdef is blocked',
  'arn:aws:bedrock:us-east-1:123456789012:SECRET/x denied',
  'projects/SECRET-project/locations/us not enabled',
  '/subscriptions/SECRET/resourceGroups/SECRET denied',
  'request req_SECRETabcdef failed',
])('cleanMessage() removes the secret in %j', (message) => {
  const cleaned = cleanMessage(message);
  expect(cleaned).not.toContain('SECRET');
  expect(cleaned).toContain('[removed]');
});

test.each([
  '00000000-1111-2222-3333-444444444444',
  '192.168.10.20',
  '10.0.0.7:8080',
  'fe80:0:0:0:200:f8ff:fe21:67cf',
  'localhost:8080',
  'sk-abc1****wxyz',
])('cleanMessage() removes %s', (secret) => {
  expect(cleanMessage(`it says ${secret} here`)).toBe('it says [removed] here');
});

test.each([
  "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
  "Invalid value for 'messages[0].content[1].type': expected one of 'text', 'image_url'.",
  'messages.0.content.1.text: Field required',
  "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  "Invalid schema for function 'get_weather': In context=('properties', 'city'), 'additionalProperties' is required.",
  'prompt tokens: 12000, completion tokens: 500',
  "user_location, key-value and request_timeout of 'test_case_two' are no names of projects",
  'temperature must be between 0.0 and 2.0, got 3.5',
  "gpt-4.1 and claude-3-5-sonnet-20241022 do not support 'logprobs'.",
  'Expected max length 64, got 65. Keys must match ^[a-zA-Z0-9_-]+$.',
  "you must provide a model parameter; 'tool_call_id' of 'messages[3]' not found in 'tool_calls' of the previous message",
])('cleanMessage() keeps %j', (message) => {
  expect(cleanMessage(message)).toBe(message);
});

test('cleanMessage() replaces control and direction characters by spaces', () => {
  expect(cleanMessage('a\r\nb\u0000c\u202ed\u2028e\u200bf')).toBe('a b c d e f');
});

test('cleanMessage() cuts at 2,000 characters, not inside a character', () => {
  expect(PROVIDER_MESSAGE_LENGTH_MAX).toBe(2_000);
  const cleaned = cleanMessage('😀'.repeat(10).concat(' ').repeat(190));
  expect(Array.from(cleaned)).toHaveLength(2_000);
  expect(Buffer.from(cleaned).toString()).toBe(cleaned);
});

test('cleanMessage() removes a secret across the cut of a long text', () => {
  for (let before = 3_900; before < 4_010; before += 1) {
    const cleaned = cleanMessage(
      `${'https://x.example/y '.repeat(before / 20)}${' '.repeat(before % 20)}sk-SECRETSECRETSECRET end`,
    );
    expect(cleaned).not.toContain('SEC');
  }
});

test('cleanMessage() returns nothing of a long text without a space', () => {
  expect(cleanMessage('x'.repeat(100_000))).toBe('');
});

test(
  'cleanMessage() removes a key in any text',
  () => {
    const key = fc.stringMatching(/^[A-Za-z0-9]{20,40}$/);
    const prefix = fc.constantFrom('sk-', 'sk-proj-', 'gsk_', 'xai-', 'Bearer ', 'api_key=', 'https://h.example/');
    const around = fc.string().map((text) => text.replace(/[A-Za-z0-9_-]$/, ''));
    fc.assert(
      fc.property(around, prefix, key, fc.string(), (before, kind, secret, after) => {
        expect(cleanMessage(`${before} ${kind}${secret} ${after}`)).not.toContain(secret);
      }),
      { numRuns: 1_000 },
    );
  },
  PROPERTY_MS_MAX,
);

/** Maximum processor time; measured: 0.1 s. Other work on the machine does not count. */
const CPU_US_MAX = 2_000_000;

/**
 * Returns the least time of several runs on one text, since other work on the machine only adds
 * time.
 */
function leastCpuUs(text: string): number {
  const tries = Array.from({ length: 7 }, () => {
    const before = process.cpuUsage();
    for (let times = 0; times < 20; times += 1) cleanMessage(text);
    return process.cpuUsage(before).user;
  });
  return Math.min(...tries);
}

/**
 * Maximum growth for a text of four times the length: linear work grows 4 times, quadratic 16
 * times. Shorter times count as `NOTICED_US`, since the clock is coarse.
 */
const GROWTH_MAX = 10;
const NOTICED_US = 4_000;

test.each(['organization', 'project id', 'api key', 'token', 'bearer', 'tenant:', 'deployment'])(
  'the time of cleanMessage() is linear: %s before spaces of every kind',
  (word) => {
    for (const space of [' ', '\t', '\u00a0', ' \n']) {
      const text = (length: number): string => `${word}${space.repeat(length / space.length)}!`;
      const growth = leastCpuUs(text(3_900)) / Math.max(leastCpuUs(text(975)), NOTICED_US);
      expect(growth).toBeLessThan(GROWTH_MAX);
    }
  },
);

test('cleanMessage() cleans the longest hostile texts in bounded time', () => {
  const hostile = [
    'a.',
    'a-',
    '1:',
    '*',
    'sk-',
    '@',
    'a/',
    'api key: ',
    '0123456789abcdef',
    'org ',
    'a@a.',
    'token ',
    ' ',
    'organization ',
    '\t',
    'eyJ.',
    'org-',
  ];
  const before = process.cpuUsage();
  for (const piece of hostile) {
    cleanMessage(`${piece.repeat(64 * 1024)} x`);
    cleanMessage(`${piece.repeat(3_900 / piece.length)} x`);
  }
  const { user } = process.cpuUsage(before);
  expect(user).toBeLessThan(CPU_US_MAX);
});
