import { afterEach, expect, test } from '@jest/globals';
import { SOURCE_HEALTH_EVERY_MS, SOURCE_HEALTH_MAX, type CatalogSource } from '@gateway/contracts/messages';
import { ManualClock } from '@gateway/testkit/clocks';
import { FakeBusClient } from '../../test/fake-bus-client.js';
import type { AttemptJudgment } from '../errors/judge-attempt.js';
import { SourceHealths } from './source-healths.js';
import { HealthReport } from './publish-health.js';
import { RemoteHealths } from './remote-healths.js';

const NOW = Date.UTC(2026, 10, 20);
const OK: AttemptJudgment = {
  step: 'final',
  outcome: 'completed',
  status: 200,
  possiblyPaid: false,
  error: null,
  coolDownMs: null,
  retryInMs: null,
  countsAsFailure: false,
  reached: true,
  refusal: null,
  errorClass: null,
  reported: null,
};
const LIMITED: AttemptJudgment = { ...OK, step: 'next_source', outcome: 'rejected', status: 429, coolDownMs: 5_000 };
const FAILED: AttemptJudgment = { ...OK, outcome: 'broken', status: null, countsAsFailure: true };

const USE = { requestsPerMinute: { used: 7, allowed: 10 }, callsAtOnce: null, tokensPerMinute: null };

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

/** Returns a report whose clock the test controls. */
function report(known: (source: string) => boolean = () => true) {
  const busClient = new FakeBusClient();
  const timers = new ManualClock(NOW);
  const healths = new SourceHealths(() => told.changed(), new RemoteHealths());
  const told = new HealthReport({
    edge: 'e0',
    bus: busClient,
    catalog: { entry: (id) => (known(id) ? ({} as CatalogSource) : undefined) },
    healths,
    quotas: { useOf: (source) => (source === 'a' ? USE : null) },
    clock: timers,
    timers,
  });
  stops.push(() => told.stop());
  return { busClient, timers, healths, told };
}

test('a source that enters cooldown is published at once, the next change after 1 s', async () => {
  const { busClient, timers, healths, told } = report();
  healths.started('a', NOW);
  healths.ended('a', OK, NOW);
  expect(busClient.healths).toEqual([]);
  healths.ended('a', LIMITED, NOW);
  expect(busClient.healths).toEqual([
    {
      edge: 'e0',
      sources: [
        {
          source: 'a',
          failures: 0,
          coolUntil: NOW + 5_000,
          openUntil: 0,
          lastOutcome: 'rejected',
          lastStatus: 429,
          lastAt: NOW,
          probing: false,
          answeredElsewhere: false,
          attempts: 2,
          errors: 1,
          overQuota: 0,
          firstByteMs: null,
          quota: USE,
        },
      ],
    },
  ]);
  for (let failure = 0; failure < 5; failure += 1) healths.ended('b', FAILED, NOW);
  expect(busClient.healths).toHaveLength(1);
  await timers.advance(999);
  told.changed();
  expect(busClient.healths).toHaveLength(1);
  await timers.advance(1);
  expect(busClient.healths[1]?.sources).toMatchObject([
    { source: 'a' },
    { source: 'b', failures: 5, openUntil: NOW + 30_000 },
  ]);
});

test('an early end of a cooldown is published, and a repeated failure is not', async () => {
  const { busClient, timers, healths } = report();
  for (let failure = 0; failure < 5; failure += 1) healths.ended('a', FAILED, NOW);
  expect(busClient.healths).toHaveLength(1);
  await timers.advance(1_000);
  healths.ended('a', FAILED, NOW + 1_000);
  expect(busClient.healths).toHaveLength(1);
  healths.ended('a', OK, NOW + 2_000);
  expect(busClient.healths[1]?.sources).toMatchObject([{ source: 'a', failures: 0, openUntil: 0 }]);
});

test('an open breaker is published again after a success elsewhere and at a probe', async () => {
  const { busClient, timers, healths } = report();
  const last = () => busClient.healths.at(-1)?.sources;
  healths.ended('b', OK, NOW);
  for (let failure = 0; failure < 5; failure += 1) healths.ended('a', FAILED, NOW + 1);
  expect(last()).toMatchObject([{ source: 'b' }, { source: 'a', openUntil: NOW + 30_001, answeredElsewhere: false }]);
  await timers.advance(1_000);
  healths.ended('b', OK, NOW + 2);
  expect(last()).toMatchObject([{ answeredElsewhere: false }, { source: 'a', answeredElsewhere: true }]);
  expect(busClient.healths).toHaveLength(2);
  await timers.advance(30_000);
  healths.started('a', NOW + 31_000);
  await timers.advance(1_000);
  expect(last()?.[1]).toMatchObject({ source: 'a', openUntil: NOW + 61_000, probing: true });
  healths.ended('a', OK, NOW + 32_000, {
    account: 'acc',
    entry: {} as CatalogSource,
    firstByteMs: 12.4,
    isOverQuota: true,
  });
  await timers.advance(1_000);
  expect(last()?.[1]).toMatchObject({
    source: 'a',
    openUntil: 0,
    probing: false,
    attempts: 6,
    errors: 5,
    overQuota: 1,
    firstByteMs: 12,
  });
});

test('sources missing in the catalog are dropped, and a long list is split', async () => {
  const { busClient, timers, healths } = report((id) => id !== 'gone');
  const count = SOURCE_HEALTH_MAX + 1;
  healths.ended('gone', OK, NOW);
  for (let at = 0; at < count; at += 1) healths.ended(`s${at}`, OK, NOW);
  await timers.advance(SOURCE_HEALTH_EVERY_MS);
  expect(busClient.healths.map(({ sources }) => sources.length)).toEqual([SOURCE_HEALTH_MAX, 1]);
  expect(busClient.healths.flatMap(({ sources }) => sources).some(({ source }) => source === 'gone')).toBe(false);
  expect(healths.get('gone')).toBeUndefined();
});
