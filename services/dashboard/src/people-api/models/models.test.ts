import { expect, test } from '@jest/globals';
import type { SourceHealthView } from '@gateway/contracts/operator';
import { findFailingModels } from './models.js';

function health(sourceId: string, modelId: string, changes: Partial<SourceHealthView> = {}): SourceHealthView {
  return {
    sourceId,
    modelId,
    edge: 'edge-1',
    state: 'healthy',
    failuresInARow: 0,
    restsUntil: null,
    lastOutcome: 'completed',
    lastStatus: 200,
    lastAttemptAt: '2026-11-20T12:00:00.000Z',
    reportedAt: '2026-11-20T12:00:01.000Z',
    attempts: 1,
    errorShare: 0,
    firstByteMs: 100,
    overQuota: 0,
    quota: null,
    together: null,
    ...changes,
  };
}
const FAILED = { failuresInARow: 1, lastOutcome: 'unreachable', lastStatus: null } as const;
const LATER = '2026-11-20T12:00:05.000Z';

test.each<[string, SourceHealthView[], string[]]>([
  ['there was no attempt', [], []],
  ['its only source failed', [health('a', 'm/one', FAILED)], ['m/one']],
  ['its breaker is open', [health('a', 'm/one', { state: 'open', failuresInARow: 5 })], ['m/one']],
  ['another source of it works', [health('a', 'm/one', FAILED), health('b', 'm/one')], []],
  ['both sources failed', [health('a', 'm/one', FAILED), health('b', 'm/one', FAILED)], ['m/one']],
  ['another edge reached it later', [health('a', 'm/one', FAILED), health('a', 'm/one', { lastAttemptAt: LATER })], []],
  [
    'another edge failed later',
    [health('a', 'm/one'), health('a', 'm/one', { ...FAILED, lastAttemptAt: LATER })],
    ['m/one'],
  ],
  ['another model works', [health('a', 'm/one', FAILED), health('b', 'm/two')], ['m/one']],
])('failingModelsOf() when %s', (_, entries, models) => {
  expect([...findFailingModels(entries)]).toEqual(models);
});
