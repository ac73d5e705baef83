import { expect, test } from '@jest/globals';
import { cookieName, cookieOf, setCookie } from './cookies.js';

test('setCookie() binds a cookie to the host over TLS, else to this site', () => {
  expect(setCookie('session', 'v', 60, { secure: true })).toBe(
    '__Host-gw_session=v; Path=/; HttpOnly; Max-Age=60; Secure; SameSite=Lax',
  );
  expect(setCookie('operator', 'v', 60, { secure: false })).toBe(
    'gw_operator=v; Path=/; HttpOnly; Max-Age=60; SameSite=Strict',
  );
  expect(cookieName('operator', { secure: true })).toBe('__Host-gw_operator');
});

test.each([
  ['gw_session=abc', 'abc'],
  ['a=1; gw_session=abc; b=2', 'abc'],
  [' gw_session=a=b ', 'a=b'],
  ['xgw_session=abc', null],
  ['gw_sessionx=abc', null],
  ['gw_session', null],
  ['gw_session=one; gw_session=two', null],
  [undefined, null],
])('in %j the session is %j', (header, value) => expect(cookieOf(header, 'gw_session')).toBe(value));

test.each([
  ['blanks within a value', `a=${' '.repeat(7_000)}x; gw_session=abc`, 'abc'],
  ['many parts', `${'a=b;'.repeat(1_900)}gw_session=abc`, 'abc'],
  ['more than 8 KiB', `${' '.repeat(64 * 1024)}x; gw_session=abc`, null],
])('cookieOf() takes below 20 ms for %s', (_, header, value) => {
  const startMs = performance.now();
  for (let time = 0; time < 20; time += 1) expect(cookieOf(header, 'gw_session')).toBe(value);
  expect((performance.now() - startMs) / 20).toBeLessThan(20);
});
