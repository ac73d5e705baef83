import { expect, test } from '@jest/globals';
import { RICH_NANO_USD } from '../load/accounts.js';
import type { Evidence } from '../evidence/evidence.js';
import { judgeExactness, judgeOutage } from './judge-outage.js';
import type { OutageMeasures } from './measure-outage.js';

const sample = {
  at: 0,
  streamBytes: 0,
  redisBytes: 0,
  holds: 0,
  billingRequests: 0,
  logLines: 0,
  secondsLeft: { redis: 0, stream: 0 },
};
const GIBIBYTE = 1024 ** 3;
/** Both stores grow by one megabyte per second for ten minutes. */
const GROWN = 600_000_000;
const secondsLeft = { stream: 0.9 * 4 * GIBIBYTE * 1e-6 - 600, redis: 0.85 * GIBIBYTE * 1e-6 - 600 };
const samples = [sample, { ...sample, at: 600_000, streamBytes: GROWN, redisBytes: GROWN, secondsLeft }];
const flat = { first: 1, last: 0.1 };
const quiet: OutageMeasures = {
  seconds: 600,
  stored: 10_000,
  held: 9_000,
  bytesPerCall: { stream: 700, redis: 350 },
  logLines: flat,
  billingRequests: flat,
  refused: {},
};

test('judgeOutage reports nothing for an outage without effects', () => {
  expect(judgeOutage(quiet, samples)).toEqual([]);
});

test.each<[string, Partial<OutageMeasures>, RegExp]>([
  ['a refused call', { refused: { admission_error: 2 } }, /^2 calls were refused: admission_error$/],
  ['a log that fills', { logLines: { first: 0, last: 2 } }, /^the log grew by 2 lines per second$/],
  [
    'one billing request per hold',
    { billingRequests: { first: 1, last: 500 } },
    /^billing got 500 requests per second$/,
  ],
  ['large events', { bytesPerCall: { stream: 1_500, redis: 350 } }, /^a call takes 1500 bytes of stream, above 1000$/],
  ['no stored event', { bytesPerCall: { stream: NaN, redis: 350 } }, /^a call takes NaN bytes of stream/],
])('judgeOutage reports %s', (_name, change, sentence) => {
  expect(judgeOutage({ ...quiet, ...change }, samples)).toEqual([expect.stringMatching(sentence)]);
});

test('judgeOutage reports an alarm whose forecast differs from the growth', () => {
  const wrong = samples.map((one) => ({ ...one, secondsLeft: { ...one.secondsLeft, stream: 604_800 } }));
  expect(judgeOutage(quiet, wrong)).toEqual([expect.stringMatching(/^the alarm of stream forecasts 604800 s/)]);
});

test('judgeExactness reports a limit that refused before its last call', () => {
  const bounds = { slots: 1, requestsPerMinute: null, keyCapNanoUsd: null, creditNanoUsd: RICH_NANO_USD };
  const terms = [{ account: 'a', windowRequests: 3, ...bounds }];
  const calls = [{ account: 'a', status: 429 }];
  const records = (settled: number) => Array.from({ length: settled }, () => ({ account: 'a', outcome: 'settled' }));
  const judge = (settled: number) => judgeExactness({ terms, calls, records: records(settled) } as unknown as Evidence);
  expect([judge(3), judge(2), judge(1)]).toEqual([[], [], ['a was refused after 1 of 3 calls']]);
});
