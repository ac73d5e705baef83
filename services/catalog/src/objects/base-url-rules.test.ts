import { expect, test } from '@jest/globals';
import { checkBaseUrl } from './base-url-rules.js';

const PUBLIC_ONLY = { privateAllowed: false, allPathsGiven: false };
const PRIVATE_TOO = { privateAllowed: true, allPathsGiven: false };

test.each([
  ['https://api.acme.example', 'https://api.acme.example'],
  ['https://api.acme.example/', 'https://api.acme.example'],
  ['https://API.acme.example:443/openai/', 'https://api.acme.example/openai'],
  ['https://api.acme.example:8443/a/b', 'https://api.acme.example:8443/a/b'],
  ['https://8.8.8.8', 'https://8.8.8.8'],
  ['https://api.acme.example/v12', 'https://api.acme.example/v12'],
])('%s is stored as %s', (text, kept) => {
  expect(checkBaseUrl(text, PUBLIC_ONLY)).toBe(kept);
});

test.each([
  'http://api.acme.example',
  'ftp://api.acme.example',
  'https://user@api.acme.example',
  'https://user:secret@api.acme.example',
  'https://api.acme.example?key=1',
  'https://api.acme.example?',
  'https://api.acme.example#top',
  'https://api.acme.example/v1',
  'https://api.acme.example/v1/',
  'https://127.0.0.1',
  'https://[::ffff:169.254.169.254]',
  'https://localhost:8443',
  'http://localhost',
  'https://',
  'api.acme.example',
])('%s is refused', (text) => {
  expect(checkBaseUrl(text, PUBLIC_ONLY)).toMatchObject({ refused: { code: 'invalid_request', param: 'baseUrl' } });
});

test('private addresses may use plain HTTP if allowed, but public ones may not', () => {
  expect(checkBaseUrl('http://127.0.0.1:9000/', PRIVATE_TOO)).toBe('http://127.0.0.1:9000');
  expect(checkBaseUrl('http://vllm:8000', PRIVATE_TOO)).toBe('http://vllm:8000');
  expect(checkBaseUrl('https://[fd00::1]', PRIVATE_TOO)).toBe('https://[fd00::1]');
  expect(checkBaseUrl('http://api.acme.example', PRIVATE_TOO)).toMatchObject({ refused: { param: 'baseUrl' } });
});

test('a base URL may end in /v1 if every endpoint has its own path', () => {
  const base = 'https://api.acme.example/v1';
  expect(checkBaseUrl(base, { ...PUBLIC_ONLY, allPathsGiven: true })).toBe(base);
});

test('a refusal does not repeat credentials', () => {
  expect(JSON.stringify(checkBaseUrl('https://user:hunter2@api.acme.example', PUBLIC_ONLY))).not.toContain('hunter2');
});
