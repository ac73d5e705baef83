import { expect, test } from '@jest/globals';
import { readArguments } from '../arguments.js';
import { realProviders } from './real-providers.js';

const KEYS = { OPENAI_API_KEY: 'a', ANTHROPIC_API_KEY: 'b', AZURE_OPENAI_API_KEY: 'c' };

test('several providers and their addresses are read from the command line', () => {
  const line = ['--provider', 'openai', '--provider=anthropic', '--provider-url', 'openai=http://127.0.0.1:1'];
  expect(readArguments(line)).toMatchObject({
    providers: ['openai', 'anthropic'],
    providerUrls: ['openai=http://127.0.0.1:1'],
  });
  expect(readArguments([])).toMatchObject({ providers: [], providerUrls: [] });
  expect(readArguments(['--provider'])).toEqual({
    problems: [expect.stringContaining("'--provider <value>' argument missing")],
  });
});

test("each provider has its profile's variable and an ID outside the demo", () => {
  const names = ['openai', 'anthropic', 'openai'];
  expect(realProviders(names, ['anthropic=http://127.0.0.1:2'], KEYS)).toEqual({
    problems: [],
    providers: [
      { profile: 'openai', id: 'openai-real', keyEnv: 'OPENAI_API_KEY', baseUrl: null },
      { profile: 'anthropic', id: 'anthropic-real', keyEnv: 'ANTHROPIC_API_KEY', baseUrl: 'http://127.0.0.1:2' },
    ],
  });
});

test.each<[string, string[], string[], NodeJS.ProcessEnv, RegExp]>([
  ['an unknown provider', ['nonsense'], [], KEYS, /^--provider nonsense: unknown; known are openai, anthropic, .*xai/],
  [
    'a missing key',
    ['openai'],
    [],
    {},
    /^--provider openai: OPENAI_API_KEY is not set: set it to the provider's API key/,
  ],
  ['an empty key', ['openai'], [], { OPENAI_API_KEY: ' ' }, /OPENAI_API_KEY is not set/],
  ['missing parameters', ['azure-openai'], [], KEYS, /needs your own address or parameters/],
  [
    'a provider without bundled models',
    ['openrouter'],
    [],
    { OPENROUTER_API_KEY: 'd' },
    /providers add openrouter --from provider --models/,
  ],
  ['an address of another provider', ['openai'], ['xai=http://127.0.0.1:1'], KEYS, /^--provider-url xai=/],
  ['an invalid address', ['openai'], ['openai=nowhere'], KEYS, /<profile>=<address>/],
])('the command line is refused with %s', (_name, names, urls, env, reason) => {
  const { problems } = realProviders(names, urls, env);
  expect(problems).toEqual([expect.stringMatching(reason)]);
});
