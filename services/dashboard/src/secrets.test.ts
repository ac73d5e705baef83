import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openSealed, publicHalfOf, Secret } from '@gateway/service-kit';
import { temporaryDirectory, type TemporaryDirectory } from '@gateway/testkit';
import { createSecrets } from './secrets.js';

const SOURCE_KEY = new Secret(Buffer.alloc(32, 1));
const WEBHOOK_KEY = new Secret(Buffer.alloc(32, 2));
let directory: TemporaryDirectory;
beforeAll(() => {
  directory = temporaryDirectory('secrets');
});
afterAll(() => directory.remove());

const fileOf = (name: string, text: string): string => {
  const path = join(directory.path, name);
  writeFileSync(path, text);
  return path;
};
const NAMES = ['DIRECT', 'BOTH', 'FILE', 'EMPTY', 'LARGE', 'MISSING', 'UNSET'];
const secretsWith = (env: NodeJS.ProcessEnv, prefixes: readonly string[] | null = null, allowed = NAMES) =>
  createSecrets(
    {
      GATEWAY_KEY_PREFIXES: prefixes,
      GATEWAY_KEY_PEPPER: { current: new Secret('pepper'), previous: null },
      GATEWAY_SOURCE_PUBLIC_KEY: publicHalfOf(SOURCE_KEY),
      GATEWAY_WEBHOOK_PUBLIC_KEY: publicHalfOf(WEBHOOK_KEY),
      GATEWAY_OPERATOR_TOKEN: { current: new Secret('current'), previous: null },
      GATEWAY_CREDENTIAL_ENV: allowed,
    },
    env,
  );

test('a variable is read directly or from its file, without the last line break', () => {
  const { fromEnvironment } = secretsWith({
    DIRECT: 'a',
    BOTH: 'b',
    BOTH_FILE: fileOf('both', 'c'),
    FILE_FILE: fileOf('file', 'd\r\n'),
    EMPTY: '',
    EMPTY_FILE: fileOf('empty', '\n'),
    LARGE_FILE: fileOf('large', 'x'.repeat(65_537)),
    MISSING_FILE: join(directory.path, 'missing'),
  });
  const [a, b, d] = ['a', 'b', 'd'].map((text) => ({ text }));
  expect(NAMES.map(fromEnvironment)).toEqual([a, b, d, null, null, null, null]);
});

test('only listed variables are read, and none of the gateway', () => {
  const names = ['PROVIDER_A', 'PROVIDER', 'OTHER', 'OTHER_2', 'AWS_TOKEN', 'GATEWAY_KEY_PEPPER'];
  const env = Object.fromEntries([...names, 'AWS_TOKEN_FILE', 'GATEWAY_X_FILE'].map((name) => [name, 'text']));
  const { fromEnvironment } = secretsWith(env, null, ['PROVIDER_*', 'OTHER', 'GATEWAY_*']);
  const text = { text: 'text' };
  const no = 'not_allowed';
  expect([...names, 'GATEWAY_X'].map(fromEnvironment)).toEqual([text, no, text, no, no, no, no]);
});

test('keys get the first prefix, or the default', () => {
  expect(secretsWith({}).makeKey().secret).toMatch(/^mgw_live_[0-9a-f]{48}$/);
  expect(secretsWith({}, ['one_live_', 'two_live_']).makeKey().maskedSecret).toMatch(
    /^one_live_[0-9a-f]{4}…[0-9a-f]{4}$/,
  );
});

test('only the token of the deployment is root', () => {
  const { isRootToken } = secretsWith({});
  expect(['current', 'Current', 'current ', 'curren', '', 'x'.repeat(10_000)].map(isRootToken)).toEqual([
    true,
    ...Array(5).fill(false),
  ]);
});

test('credentials and webhook secrets open only with their own key', () => {
  const { seal, makeWebhookSecret } = secretsWith({});
  const keysOf = (current: Secret<Buffer>) => ({ privateKey: { current, previous: null } });
  const credential = seal('sk-1', 'src');
  const { secret, sealedSecret } = makeWebhookSecret('acc_1');
  expect(openSealed(credential, 'src', keysOf(SOURCE_KEY))).toBe('sk-1');
  expect(openSealed(sealedSecret, 'webhook:acc_1', keysOf(WEBHOOK_KEY))).toBe(secret);
  expect(() => openSealed(credential, 'src', keysOf(WEBHOOK_KEY))).toThrow('neither the current nor the previous');
  expect(() => openSealed(sealedSecret, 'webhook:acc_1', keysOf(SOURCE_KEY))).toThrow('neither');
});

test('the same credential for the same source is sealed to the same text', () => {
  const { seal } = secretsWith({});
  expect(seal('sk-1', 'src')).toBe(secretsWith({}).seal('sk-1', 'src'));
  expect(new Set([seal('sk-1', 'src'), seal('sk-2', 'src'), seal('sk-1', 'other')]).size).toBe(3);
});
