import { expect, test } from '@jest/globals';
import { REMOTE_HEALTH_TTL_MS, computeHealthRank, type OwnHealth, type RemoteHealth } from './remote-health.js';

const NOW = 1_000_000;
const WELL = {
  failures: 0,
  coolUntilMs: 0,
  openUntilMs: 0,
  refusedUntilMs: 0,
  refusals: 0,
  doubts: [],
  probing: false,
};
const NEWS: RemoteHealth = {
  edge: 'e1',
  heardAtMs: NOW - 1_000,
  coolUntilMs: 0,
  openUntilMs: 0,
  probing: false,
  lastAtMs: NOW - 2_000,
  answeredElsewhere: false,
};
const COOLING: RemoteHealth = { ...NEWS, coolUntilMs: NOW + 1 };
const OPEN: RemoteHealth = { ...NEWS, openUntilMs: NOW + 1 };
const PROVEN: RemoteHealth = { ...OPEN, answeredElsewhere: true };
const PROBING: RemoteHealth = { ...NEWS, probing: true };
const tried = (lastAt: number | null, health: Partial<OwnHealth['health']> = {}): OwnHealth => ({
  lastAt,
  health: { ...WELL, ...health },
});
const OVER = { failures: 5, openUntilMs: NOW };

test.each<[string, OwnHealth | undefined, RemoteHealth[], number]>([
  ['there are no reports', undefined, [], 0],
  ['another edge reports no problem', undefined, [NEWS], 0],
  ['another edge reports a cooldown', undefined, [COOLING], 1],
  ['the reported cooldown is over', undefined, [{ ...COOLING, coolUntilMs: NOW }], 0],
  ['one edge reports an open breaker', undefined, [OPEN], 0],
  ['one edge reports an open breaker and a later success elsewhere', undefined, [PROVEN], 1],
  ['two edges report an open breaker', undefined, [OPEN, { ...OPEN, edge: 'e2' }], 1],
  ['one of two edges closed its breaker', undefined, [OPEN, { ...NEWS, edge: 'e2' }], 0],
  ['one of two edges has been silent', undefined, [OPEN, silent({ ...OPEN, edge: 'e2' })], 0],
  ['the reporting edge has been silent for three intervals', undefined, [silent(COOLING)], 0],
  [
    'the reporting edge has been silent for less',
    undefined,
    [{ ...COOLING, heardAtMs: NOW - REMOTE_HEALTH_TTL_MS + 1 }],
    1,
  ],
  ['the own attempt is older than the report', tried(NOW - 2_001), [COOLING], 1],
  ['the own attempt is as new as the report', tried(NOW - 2_000), [COOLING], 0],
  ['the own attempt is newer than the report', tried(NOW - 1), [COOLING, PROVEN], 0],
  [
    'the own attempt is newer than the report of one of two edges',
    tried(NOW - 2_000),
    [OPEN, { ...OPEN, lastAtMs: NOW }],
    0,
  ],
  ['the source is in a cooldown here', tried(NOW, { coolUntilMs: NOW + 1 }), [], 2],
  ['the breaker is open here and other edges report no problem', tried(NOW, { openUntilMs: NOW + 1 }), [NEWS], 2],
  ['the own breaker is due for a probe', tried(NOW, OVER), [], 0],
  ['the own breaker is due for a probe and another edge probes', tried(NOW, OVER), [PROBING], 2],
  ['the probing edge has been silent', tried(NOW, OVER), [silent(PROBING)], 0],
  ['another edge probes a source that is healthy here', tried(NOW), [PROBING], 0],
])('restRank() if %s: %s', (_name, own, entries, rank) => {
  expect(computeHealthRank(own, entries, NOW)).toBe(rank);
});

function silent(entry: RemoteHealth): RemoteHealth {
  return { ...entry, heardAtMs: NOW - REMOTE_HEALTH_TTL_MS };
}
