import { expect, test } from '@jest/globals';
import { RETRY_AFTER_SECONDS_MAX, retryAfterSeconds, secondsInText, waitHeader } from './retry-after.js';

const NOW = Date.UTC(2026, 10, 20, 12);

test.each([
  [undefined, undefined],
  ['', undefined],
  ['0', 1],
  ['1', 1],
  [' 60 ', 60],
  ['0.2', 1],
  ['1.0001', 2],
  ['9999999999', RETRY_AFTER_SECONDS_MAX],
  ['-1', undefined],
  ['1e3', undefined],
  ['0x10', undefined],
  ['NaN', undefined],
  ['60, 120', undefined],
  ['99999999999999999999', undefined],
  ['Fri, 20 Nov 2026 12:01:30 GMT', 90],
  ['Friday, 20-Nov-26 12:01:30 GMT', 90],
  ['Fri Nov 20 12:01:30 2026', 90],
  ['Fri, 20 Nov 2026 11:00:00 GMT', 1],
  ['Fri, 20 Nov 2126 12:00:00 GMT', RETRY_AFTER_SECONDS_MAX],
  ['2026-11-20T12:01:30Z', undefined],
  ['20 Nov 2026', undefined],
  ['Fri, 99 Nov 2026 12:01:30 GMT', undefined],
])('%j is %p seconds', (header, seconds) => {
  expect(retryAfterSeconds(header, NOW)).toBe(seconds);
});

test.each([
  [{ 'retry-after': '4', 'x-ratelimit-reset': '9' }, '4'],
  [{ 'x-ratelimit-reset': '0.5' }, '0.5'],
  [{ 'ratelimitbysize-reset': '38' }, '38'],
  // OpenRouter's is a time of day in ms, others have it in seconds.
  [{ 'x-ratelimit-reset': '1795434000000' }, undefined],
  [{ 'x-ratelimit-reset': '1795434000', 'ratelimitbysize-reset': '38' }, '38'],
  [{ 'x-ratelimit-reset': '2m59.56s' }, undefined],
  [{}, undefined],
])('of the headers %j the wait is %p', (headers: Readonly<Record<string, string>>, wait) => {
  expect(waitHeader((name) => headers[name])).toBe(wait);
});

test.each([
  [null, undefined],
  ['Too many requests', undefined],
  ['Please retry after 60 seconds. Please contact support', 60],
  ['please try again after 1 seconds', 1],
  ['Please try again in 494ms. Visit', 1],
  ['Please try again in 1.984999999s.', 2],
  ['Please try again in 9m38.016s.', 579],
  ['Please retry in 10h50m43.651927829s.', 39_044],
  ['retry after 999h9999m999999s', RETRY_AFTER_SECONDS_MAX],
  ['retry in 5 minutes', undefined],
  ['retry in 5 steps', undefined],
])('%j says %p seconds', (text, seconds) => {
  expect(secondsInText(text)).toBe(seconds);
});
