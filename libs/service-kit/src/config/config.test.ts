import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { BASE_FIELDS, testControlProblems } from './base-fields.js';
import type { Secret } from '../index.js';
import { COMMON_FIELDS, ConfigurationError, describeConfig, field, printConfig, readConfig } from '../index.js';

const directory = mkdtempSync(join(tmpdir(), 'gateway-config-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const PASSWORD = 'correct-horse-battery-staple-0123456789';

function problemsOf(run: () => unknown): readonly string[] {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
  return [];
}

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

test('readConfig() reads each kind of field and uses defaults for unset ones', () => {
  const fields = {
    NAME: field.string({ doc: 'a name' }),
    NOTE: field.string({ doc: 'a note', default: null }),
    PORT: field.integer({ doc: 'a port', min: 0, max: 65_535, default: 8_080 }),
    RATIO: field.number({ doc: 'a ratio', min: 0, max: 1, default: 0 }),
    WAIT_MS: field.durationMs({ doc: 'a wait', default: 30_000 }),
    OPEN: field.boolean({ doc: 'open', default: false }),
    SHUT: field.boolean({ doc: 'shut', default: true }),
    ITEMS: field.list({ doc: 'items' }),
    LEVEL: field.choice({ doc: 'a level', choices: ['low', 'high'], default: 'low' }),
    SITE: field.url({ doc: 'a site', schemes: ['http', 'https'] }),
  };
  const env = {
    NAME: ' edge ',
    RATIO: '0.25',
    OPEN: 'On',
    SHUT: '0',
    ITEMS: 'a, b,,c',
    LEVEL: 'high',
    PORT: '',
    SITE: 'https://x.test/y',
  };
  const config = readConfig(fields, env);
  const level: 'low' | 'high' = config.LEVEL;
  const note: string | null = config.NOTE;
  const waitMs: number = config.WAIT_MS;
  expect({ ...config, level, note, waitMs }).toEqual({
    NAME: 'edge',
    NOTE: null,
    PORT: 8_080,
    RATIO: 0.25,
    WAIT_MS: 30_000,
    OPEN: true,
    SHUT: false,
    ITEMS: ['a', 'b', 'c'],
    LEVEL: 'high',
    SITE: 'https://x.test/y',
    level: 'high',
    note: null,
    waitMs: 30_000,
  });
});

test('readConfig() reports all problems at once, each with its remedy', () => {
  const fields = {
    PORT: field.integer({ doc: 'the port', min: 0, max: 65_535 }),
    WAIT_MS: field.durationMs({ doc: 'the wait' }),
    OPEN: field.boolean({ doc: 'whether it is open' }),
    LEVEL: field.choice({ doc: 'the level', choices: ['low', 'high'] }),
    SITE: field.url({ doc: 'the site', schemes: ['https'] }),
    TOKEN: field.secret({ doc: 'the token', minBytes: 16 }),
    KEY: field.rotatableKey({ doc: 'the key', bytes: 32 }),
    NAME: field.string({ doc: 'the name', pattern: /^[a-z]+$/, patternText: 'lower-case letters' }),
    ITEMS: field.list({ doc: 'the items', pattern: /^[a-z]$/, patternText: 'one letter' }),
  };
  const env = {
    PORT: '70000',
    WAIT_MS: '5s',
    OPEN: 'maybe',
    LEVEL: 'mid',
    SITE: 'ftp://x',
    KEY: 'zz zz',
    NAME: 'A',
    ITEMS: 'a,bb',
  };
  expect(problemsOf(() => readConfig(fields, env))).toEqual([
    'PORT must be a whole number from 0 to 65535, not "70000". It is: the port',
    'WAIT_MS must be a whole number of milliseconds from 1 to 2147483647, not "5s". It is: the wait',
    'OPEN must be on or off (true, false, 1 and 0 also do), not "maybe". It is: whether it is open',
    'LEVEL must be one of low, high, not "mid". It is: the level',
    'SITE must be a URL that begins with https://. It is: the site',
    'TOKEN is not set; set TOKEN, or TOKEN_FILE to the path of a file that holds it. It is: the token',
    'KEY must be 32 bytes written as hex or base64. It is: the key',
    'NAME must be lower-case letters, not "A". It is: the name',
    'ITEMS holds "bb"; an item must be one letter. It is: the items',
  ]);
});

test('a secret comes from its variable or from a file, never from both', () => {
  const fields = { TOKEN: field.secret({ doc: 'the token' }) };
  expect(readConfig(fields, { TOKEN: PASSWORD }).TOKEN.reveal()).toBe(PASSWORD);
  expect(readConfig(fields, { TOKEN_FILE: file('token', `${PASSWORD}\n`) }).TOKEN.reveal()).toBe(PASSWORD);
  const both = problemsOf(() => readConfig(fields, { TOKEN: PASSWORD, TOKEN_FILE: file('token', 'x') }));
  expect(both).toEqual(['TOKEN is set twice; keep either TOKEN or TOKEN_FILE. It is: the token']);
  const missing = problemsOf(() => readConfig(fields, { TOKEN_FILE: join(directory, 'nothing') }));
  expect(missing).toEqual(['TOKEN_FILE names a file that cannot be read (ENOENT). It is: the token']);
  const none = problemsOf(() => readConfig(fields, { TOKEN_FILE: file('none', '\n') }));
  expect(none).toEqual(['TOKEN_FILE names an empty file. It is: the token']);
});

test('a rotatable secret has a previous one while NAME_PREVIOUS is set', () => {
  const fields = { PEPPER: field.rotatableSecret({ doc: 'the pepper', minBytes: 4 }) };
  const one = readConfig(fields, { PEPPER: 'newer' }).PEPPER;
  expect([one.current.reveal(), one.previous]).toEqual(['newer', null]);
  const two = readConfig(fields, { PEPPER: 'newer', PEPPER_PREVIOUS_FILE: file('old', 'older') }).PEPPER;
  expect([two.current.reveal(), two.previous?.reveal()]).toEqual(['newer', 'older']);
  const short = problemsOf(() => readConfig(fields, { PEPPER: 'newer', PEPPER_PREVIOUS: 'old' }));
  expect(short).toEqual(['PEPPER_PREVIOUS holds 3 bytes, at least 4 are needed. It is: the pepper']);
});

test.each([
  ['too short', 'Zq3vN8xLr2TgW6yKb9Hd4Ms7Pf1Jc0A'],
  ['of few different characters', 'aaaabbbbccccddddeeeeffffaaaabbbbccccdddd'],
  ['one text repeated', 'operator-token-operator-token-operator-token-'],
])('a random secret is refused when it is %s, its previous one is not', (_what, text) => {
  const fields = { TOKEN: field.rotatableSecret({ doc: 'the token', random: true }) };
  const random = '5e1f0c9b7a3d48e6f2b1a0c4d7e89365';
  const [refused = ''] = problemsOf(() => readConfig(fields, { TOKEN: text }));
  expect(refused).toContain('TOKEN does not look random: it needs at least 32 characters');
  expect(refused).toContain('openssl rand -hex 32');
  expect(refused).not.toContain(text);
  const { current, previous } = readConfig(fields, { TOKEN: random, TOKEN_PREVIOUS: text }).TOKEN;
  expect([current.reveal(), previous?.reveal()]).toEqual([random, text]);
});

test('a key may be written as hex, base64 or base64url', () => {
  const fields = { KEY: field.rotatableKey({ doc: 'the key', bytes: 32 }) };
  const key = Buffer.from(Array.from({ length: 32 }, (_value, index) => 255 - index));
  for (const text of [key.toString('hex'), key.toString('base64'), key.toString('base64url')]) {
    expect(readConfig(fields, { KEY: text }).KEY.current.reveal()).toEqual(key);
  }
  const short = problemsOf(() => readConfig(fields, { KEY: key.subarray(1).toString('hex') }));
  expect(short).toEqual(['KEY holds a key of 31 bytes, exactly 32 are needed. It is: the key']);
});

test('an optional secret may be absent, and a URL with a password is a secret', () => {
  const fields = { SMTP: COMMON_FIELDS.GATEWAY_SMTP_URL, NATS: COMMON_FIELDS.GATEWAY_NATS_URL };
  const config = readConfig(fields, { NATS: `nats://u:${PASSWORD}@a:4222,b:4222` });
  const smtp: Secret | null = config.SMTP;
  expect(smtp).toBeNull();
  expect(config.NATS.reveal()).toContain(PASSWORD);
  const wrong = problemsOf(() => readConfig(fields, { NATS: `redis://u:${PASSWORD}@a` }));
  expect(wrong.join()).toContain('NATS must be a URL that begins with nats://');
  expect(wrong.join()).not.toContain(PASSWORD);
});

test('no form of printing shows a secret', () => {
  const key = Buffer.alloc(32, 7);
  const fields = {
    TOKEN: field.secret({ doc: 'the token' }),
    URL: field.secretUrl({ doc: 'the url', schemes: ['nats'] }),
    PEPPER: field.rotatableSecret({ doc: 'the pepper' }),
    KEY: field.rotatableKey({ doc: 'the key', bytes: 32 }),
  };
  const config = readConfig(fields, {
    TOKEN: PASSWORD,
    URL: `nats://u:${PASSWORD}@h`,
    PEPPER: PASSWORD,
    PEPPER_PREVIOUS: PASSWORD,
    KEY: key.toString('hex'),
  });
  const shown = [
    inspect(config, { depth: 10, showHidden: true }),
    inspect(config.KEY.current, { showHidden: true, customInspect: false }),
    JSON.stringify(config),
    `${config.TOKEN} ${config.URL} ${config.PEPPER.current} ${config.KEY.current}`,
    String(config.TOKEN),
    'x' + config.TOKEN,
    new Error(`failed with ${config.URL}`).stack ?? '',
    Object.entries(config.TOKEN).join() + Object.getOwnPropertyNames(config.TOKEN).join(),
    JSON.stringify(structuredClone({ ...config.TOKEN })),
    JSON.stringify(printConfig(fields, config)),
    JSON.stringify(describeConfig(fields)),
  ];
  for (const text of shown) {
    expect(text).not.toContain(PASSWORD);
    expect(text).not.toContain(key.toString('hex'));
    expect(text).not.toMatch(/07 07 07|7,7,7/);
  }
  expect(shown[3]).toBe('[secret] [secret] [secret] [secret]');
});

test('problems never show a secret or a URL with a password', () => {
  const fields = {
    TOKEN: field.secret({ doc: 'the token', minBytes: 64 }),
    KEY: field.rotatableKey({ doc: 'the key', bytes: 32 }),
    SITE: field.url({ doc: 'the site', schemes: ['https'] }),
    NAME: field.string({ doc: 'the name', pattern: /^[a-z]$/ }),
    DATABASE: field.secretUrl({ doc: 'the database', schemes: ['postgres'] }),
  };
  const env = {
    TOKEN: PASSWORD,
    KEY: PASSWORD,
    SITE: `https://u:${PASSWORD}@h`,
    NAME: `postgres://u:${PASSWORD}@h`,
    DATABASE: `not a url ${PASSWORD}`,
  };
  const problems = problemsOf(() => readConfig(fields, env));
  expect(problems).toHaveLength(5);
  expect(problems.join('\n')).not.toContain(PASSWORD);
});

test('describeConfig() returns one row for each variable', () => {
  const fields = {
    GATEWAY_LEASE_MS: COMMON_FIELDS.GATEWAY_LEASE_MS,
    GATEWAY_KEY_PEPPER: COMMON_FIELDS.GATEWAY_KEY_PEPPER,
  };
  expect(describeConfig(fields)).toEqual([
    {
      name: 'GATEWAY_LEASE_MS',
      required: false,
      default: '30000',
      doc: 'time without a heartbeat after which the slot of a request is freed',
      secret: false,
      rotatable: false,
    },
    {
      name: 'GATEWAY_KEY_PEPPER',
      required: true,
      default: null,
      doc: 'key of the HMAC digests of API keys',
      secret: true,
      rotatable: true,
    },
  ]);
});

// Covers limits: rule 6 upstream response timeout 600
test('the shared durations have the defaults of the protocol simulation', () => {
  const defaults = Object.fromEntries(describeConfig(COMMON_FIELDS).map(({ name, default: value }) => [name, value]));
  expect(defaults).toMatchObject({
    GATEWAY_LEASE_MS: '30000',
    GATEWAY_EXPIRY_MS: '120000',
    GATEWAY_HEARTBEAT_MS: '2000',
    GATEWAY_SWEEP_MS: '1000',
    GATEWAY_READ_AFTER_DISCONNECT_MS: null,
    GATEWAY_DRAIN_MS: '660000',
    GATEWAY_UPSTREAM_DEADLINE_MS: '600000',
    GATEWAY_TEST_CONTROLS: 'off',
    GATEWAY_TRACE_RATIO: '0',
    GATEWAY_KEY_PREFIXES: 'mgw_live_',
  });
});

test('a minimum timeout is rejected without GATEWAY_TEST_CONTROLS', () => {
  const problems = (env: NodeJS.ProcessEnv) => testControlProblems(readConfig(BASE_FIELDS, env));
  expect(problems({ GATEWAY_TIMEOUT_MIN_MS: '1' })).toEqual([
    'GATEWAY_TIMEOUT_MIN_MS is a test control: it needs GATEWAY_TEST_CONTROLS=on',
  ]);
  const env = { GATEWAY_TIMEOUT_MIN_MS: '1', GATEWAY_TEST_CONTROLS: 'on', GATEWAY_ADMIN_HOST: '127.0.0.1' };
  expect(problems(env)).toEqual([]);
});
