import { expect, test } from '@jest/globals';
import { parseDurationMs, readHeaderWaitMs, parseTextWaitMs, WAIT_MS_MAX, toWholeSeconds } from './retry-after.js';

const NOW = Date.UTC(2026, 10, 20, 12);
const NOW_SECONDS = NOW / 1_000;

test.each([
  [undefined, undefined],
  ['', undefined],
  ['0', 0],
  ['1', 1_000],
  [' 60 ', 60_000],
  ['0.2', 200],
  ['86400', WAIT_MS_MAX],
  ['604800', WAIT_MS_MAX],
  ['999999999', WAIT_MS_MAX],
  // Times: of today in seconds or milliseconds, in the distant past and in the distant future.
  [String(NOW_SECONDS + 30), 30_000],
  [`${NOW_SECONDS + 30}.5`, 30_500],
  [String(NOW + 1_500), 1_500],
  [String(NOW_SECONDS - 60), 0],
  ['1000000000', undefined],
  [String(NOW_SECONDS + 90_000), undefined],
  ['9999999999', undefined],
  ['999999999999999', undefined],
  ['-1', undefined],
  ['1e3', undefined],
  ['0x10', undefined],
  ['NaN', undefined],
  ['60s', undefined],
  ['60, 120', undefined],
  ['99999999999999999999', undefined],
  ['Fri, 20 Nov 2026 12:01:30 GMT', 90_000],
  ['Friday, 20-Nov-26 12:01:30 GMT', 90_000],
  ['Fri Nov 20 12:01:30 2026', 90_000],
  ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
  ['Fri, 20 Nov 2126 12:00:00 GMT', WAIT_MS_MAX],
  ['2026-11-20T12:01:30Z', undefined],
  ['20 Nov 2026', undefined],
  ['Fri, 99 Nov 2026 12:01:30 GMT', undefined],
])('Retry-After %j states a wait of %p ms', (header, ms) => {
  expect(readHeaderWaitMs((name) => (name === 'retry-after' ? header : undefined), NOW)).toBe(ms);
});

test.each([
  [{ 'retry-after-ms': '494', 'retry-after': '4' }, 494],
  [{ 'retry-after-ms': '494.5' }, 494.5],
  [{ 'retry-after-ms': 'soon', 'retry-after': '4' }, 4_000],
  [{ 'retry-after-ms': '-5', 'retry-after': '4' }, 4_000],
  [{ 'retry-after': 'soon', 'x-ratelimit-reset': '9' }, 9_000],
  [{ 'retry-after': '4', 'x-ratelimit-reset': '9' }, 4_000],
  [{ 'x-ratelimit-reset': '0.5' }, 500],
  [{ 'ratelimitbysize-reset': '38' }, 38_000],
  // OpenRouter sends a time in milliseconds.
  [{ 'x-ratelimit-reset': String(NOW + 7_000) }, 7_000],
  [{ 'x-ratelimit-reset': '1000000000', 'ratelimitbysize-reset': '38' }, 38_000],
  [{ 'x-ratelimit-reset': '2m59.56s' }, undefined],
  [{}, undefined],
])('the headers %j state a wait of %p ms', (headers: Readonly<Record<string, string>>, ms) => {
  expect(readHeaderWaitMs((name) => headers[name], NOW)).toBe(ms);
});

test.each([
  ['13s', 13_000],
  ['0.494s', 494],
  ['39044.651927829s', 39_044_651.927829],
  ['999999999999s', WAIT_MS_MAX],
  ['-3s', undefined],
  ['13', undefined],
  [13, undefined],
  [undefined, undefined],
])('a retryDelay of %j is %p ms', (delay, ms) => {
  expect(parseDurationMs(delay)).toBe(ms);
});

test.each([
  [null, undefined],
  ['Too many requests', undefined],
  ['Please retry after 60 seconds. Please contact support', 60_000],
  ['please try again after 1 seconds', 1_000],
  ['Please try again in 494ms. Visit', 494],
  ['Please try again in 9m38.016s.', 578_016],
  ['Please retry in 10h50m43.5s.', 39_043_500],
  ['retry after 999h9999m999999s', WAIT_MS_MAX],
  ['retry in 5 minutes', undefined],
  ['retry in 5 steps', undefined],
])('the text %j states a wait of %p ms', (text, ms) => {
  expect(parseTextWaitMs(text)).toBe(ms);
});

test.each([
  [0, 1],
  [494, 1],
  [1_000, 1],
  [1_000.1, 2],
  [WAIT_MS_MAX, 86_400],
])('wholeSeconds() rounds %p ms to %p s', (ms, seconds) => {
  expect(toWholeSeconds(ms)).toBe(seconds);
});
