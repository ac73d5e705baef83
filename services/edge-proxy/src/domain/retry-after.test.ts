import { expect, test } from '@jest/globals';
import { RETRY_AFTER_SECONDS_MAX, retryAfterSeconds } from './retry-after.js';

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
