import { expect, test } from '@jest/globals';
import { needsTls, ownOrigins } from './settings.js';

test.each([
  ['https://gateway.example/app', false],
  ['https://10.0.0.5', false],
  ['http://127.0.0.1:8081', false],
  ['http://localhost:8081', false],
  ['http://[::1]:8081', false],
  ['http://gateway.example', true],
  ['http://10.0.0.5:8081', true],
  ['http://localhost.example', true],
])('%s needs TLS: %p', (url, expected) => expect(needsTls(url)).toBe(expected));

test("ownOrigins() has the dashboard's origin and all names of this machine", () => {
  expect([...ownOrigins('https://gateway.example/app')]).toEqual(['https://gateway.example']);
  const local = ownOrigins('http://localhost:8081');
  expect(local.has('http://127.0.0.1:8081')).toBe(true);
  expect(local.has('http://127.0.0.1:8082')).toBe(false);
  expect(local.has('https://127.0.0.1:8081')).toBe(false);
});
