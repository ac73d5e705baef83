import { expect, test } from '@jest/globals';
import { recordingLog } from '@gateway/testkit';
import { PrivateSources } from './private-sources.js';

test('every refusal is counted; a source is logged once a minute', () => {
  let now = 0;
  let refusals = 0;
  const log = recordingLog();
  const sources = new PrivateSources({ log, monotonicMs: () => now, onRefused: () => (refusals += 1) });
  for (const at of [0, 1, 59_999, 60_000, 60_001]) {
    now = at;
    sources.refused('src-a', 'private address 10.0.0.1');
    if (at === 1) sources.refused('src-b', 'private address ::1');
  }
  expect(refusals).toBe(6);
  expect(log.lines.map(({ facts }) => facts)).toMatchObject([
    { source: 'src-a', reason: 'private address 10.0.0.1' },
    { source: 'src-b', reason: 'private address ::1' },
    { source: 'src-a' },
  ]);
});
