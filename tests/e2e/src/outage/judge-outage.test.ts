import { expect, test } from '@jest/globals';
import type { Evidence } from '../evidence/evidence.js';
import { RICH_NANO_USD } from '../load/accounts.js';
import { judgeExactness, judgeOutage, measureOutage, type OutageMeasures } from './judge-outage.js';

const sample = {
  at: 0,
  bytes: { stream: 0, redis: 0 },
  holds: 0,
  billingRequests: 0,
  logLines: 0,
  secondsLeft: { redis: 0, stream: 0 },
};
const GIBIBYTE = 1024 ** 3;
/** Both stores grow by one megabyte per second for ten minutes. */
const END_MS = 600_000;
const GROWN = 600_000_000;
const secondsLeft = { stream: 0.9 * 4 * GIBIBYTE * 1e-6 - 600, redis: 0.85 * GIBIBYTE * 1e-6 - 600 };
const end = { ...sample, at: END_MS, bytes: { stream: GROWN, redis: GROWN }, holds: 9_000, secondsLeft };
const flat: OutageMeasures = {
  seconds: 600,
  offered: 12_000,
  answered: 11_000,
  stored: 10_000,
  held: 9_000,
  bytesPerCall: { stream: 700, redis: 350 },
  forecast: secondsLeft,
  expected: secondsLeft,
  logLines: 0.1,
  billingRequests: 0.1,
  refused: {},
};

test('judgeOutage reports nothing for an outage without effects', () => {
  expect(judgeOutage(flat)).toEqual([]);
});

test.each<[string, Partial<OutageMeasures>, RegExp]>([
  ['a refused call', { refused: { admission_error: 2 } }, /^2 calls were refused: admission_error$/],
  ['a log that fills', { logLines: 2 }, /^the log grew by 2 lines per second$/],
  ['one billing request per hold', { billingRequests: 500 }, /^billing got 500 requests per second$/],
  ['large events', { bytesPerCall: { stream: 1_500, redis: 350 } }, /^a call takes 1500 bytes of stream, above 1000$/],
  ['no stored event', { bytesPerCall: { stream: NaN, redis: 350 } }, /^a call takes NaN bytes of stream/],
  ['a late alarm', { forecast: { ...secondsLeft, stream: 604_800 } }, /^the alarm of stream forecasts 604800 s/],
  ['an early alarm', { forecast: { ...secondsLeft, redis: 1 } }, /^the alarm of redis forecasts 1 s/],
])('judgeOutage reports %s', (_name, change, sentence) => {
  expect(judgeOutage({ ...flat, ...change })).toEqual([expect.stringMatching(sentence)]);
});

test('measureOutage computes rates, growth, and the calls with a response', () => {
  const span = { downAt: 0, backAt: END_MS, caughtUpAt: END_MS + 1 };
  const late = { ...sample, at: END_MS - 10_000, logLines: 5, billingRequests: 20 };
  const samples = [sample, sample, late, { ...end, logLines: 25, billingRequests: 60 }];
  const call = (begunAt: number, status: number | null, code: string | null = null) => ({
    ...{ begunAt, endedAt: begunAt + 1, status, code, ending: status === null ? 'left' : 'refused' },
  });
  const calls = [call(1, 200), call(2, null), call(3, 500, 'admission_error'), call(-9, 200), call(END_MS + 9, 200)];
  const records = [{ startedAt: 1 }, { startedAt: 2 }, { startedAt: END_MS }];
  const measures = measureOutage({ ...span, samples }, { calls, records } as unknown as Evidence);
  expect(measures).toMatchObject({ seconds: 600, offered: 3, answered: 2, stored: 2, held: 9_000 });
  expect(measures).toMatchObject({ logLines: 2, billingRequests: 4, refused: { admission_error: 1 } });
  expect(measures.bytesPerCall).toEqual({ stream: GROWN / 2, redis: GROWN / 9_000 });
  for (const store of ['stream', 'redis'] as const) expect(measures.expected[store]).toBeCloseTo(secondsLeft[store]);
  expect(measures.forecast).toEqual(secondsLeft);
});

test('judgeExactness reports a limit that refused before its last call', () => {
  const bounds = { slots: 1, requestsPerMinute: null, keyCapNanoUsd: null, creditNanoUsd: RICH_NANO_USD };
  const terms = [{ account: 'a', windowRequests: 3, ...bounds }];
  const calls = [{ account: 'a', status: 429 }];
  const records = (settled: number) => Array.from({ length: settled }, () => ({ account: 'a', outcome: 'settled' }));
  const judge = (settled: number) => judgeExactness({ terms, calls, records: records(settled) } as unknown as Evidence);
  expect([judge(3), judge(2), judge(1)]).toEqual([[], [], ['a was refused after 1 of 3 calls']]);
});
