import { expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import { startPublisher, type PublisherDeps } from './publisher.js';

const NEVER_MS = 3_600_000;
const TIMES = { checkMs: NEVER_MS, verifyMs: NEVER_MS };

function deps(more: Partial<PublisherDeps>): PublisherDeps {
  return {
    publish: () => Promise.resolve(1),
    isStale: () => Promise.resolve(false),
    log: { info: () => undefined, warn: () => undefined },
    onTry: () => undefined,
    retryDelayMs: () => 1,
    ...more,
  };
}

test('changes during a publication are published by one more', async () => {
  const runs: (() => void)[] = [];
  let revision = 0;
  const publisher = startPublisher(
    deps({ publish: () => new Promise((resolve) => runs.push(() => resolve((revision += 1)))) }),
    TIMES,
  );
  await until('the first one runs', () => runs.length === 1);
  for (let n = 0; n < 50; n += 1) publisher.announce();
  runs[0]?.();
  await until('one more runs', () => runs.length === 2);
  runs[1]?.();
  expect(await publisher.published(2, 5_000)).toBe(true);
  const stopped = publisher.stop();
  await stopped;
  expect(runs).toHaveLength(2);
});

test('a failed publication is repeated with growing delays until it succeeds', async () => {
  const attempts: number[] = [];
  const outcomes: string[] = [];
  let left = 4;
  const publisher = startPublisher(
    deps({
      publish: () => (left-- > 0 ? Promise.reject(new Error('away')) : Promise.resolve(7)),
      onTry: (outcome) => outcomes.push(outcome),
      retryDelayMs: (attempt) => attempts.push(attempt),
    }),
    TIMES,
  );
  expect(publisher.revision()).toBeNull();
  expect(await publisher.published(7, 5_000)).toBe(true);
  expect(publisher.revision()).toBe(7);
  await publisher.stop();
  expect(attempts).toEqual([0, 1, 2, 3]);
  expect(outcomes).toEqual(['failed', 'failed', 'failed', 'failed', 'published']);
});

test('while another replica publishes, this one retries without a warning', async () => {
  const outcomes: string[] = [];
  const warnings: string[] = [];
  let left = 2;
  const publisher = startPublisher(
    deps({
      publish: () => Promise.resolve(left-- > 0 ? null : 4),
      onTry: (outcome) => outcomes.push(outcome),
      log: { info: () => undefined, warn: (_facts, text) => void warnings.push(text) },
    }),
    TIMES,
  );
  expect(await publisher.published(4, 5_000)).toBe(true);
  await publisher.stop();
  expect(outcomes).toEqual(['waited', 'waited', 'published']);
  expect(warnings).toEqual([]);
});

test('wake() ends the wait for the next attempt, also before it begins', async () => {
  let tries = 0;
  const publisher = startPublisher(
    deps({
      publish: () => ((tries += 1) === 1 ? Promise.reject(new Error('away')) : Promise.resolve(1)),
      retryDelayMs: () => NEVER_MS,
    }),
    TIMES,
  );
  await until('the first attempt failed', () => tries === 1);
  publisher.wake();
  expect(await publisher.published(1, 5_000)).toBe(true);
  await publisher.stop();
});

test('published() returns false after its timeout and when the publisher stops', async () => {
  const publisher = startPublisher(deps({}), TIMES);
  expect(await publisher.published(2, 1)).toBe(false);
  const waiting = publisher.published(2, NEVER_MS);
  await publisher.stop();
  expect(await waiting).toBe(false);
});

test('a stale catalog, and one not verified for long, is published again', async () => {
  let tries = 0;
  let stale = false;
  const stalePublisher = startPublisher(
    deps({ publish: () => Promise.resolve((tries += 1)), isStale: () => Promise.resolve(stale) }),
    { checkMs: 1, verifyMs: NEVER_MS },
  );
  await stalePublisher.published(1, 5_000);
  stale = true;
  expect(await stalePublisher.published(2, 5_000)).toBe(true);
  await stalePublisher.stop();
  tries = 0;
  const verifying = startPublisher(deps({ publish: () => Promise.resolve((tries += 1)) }), {
    checkMs: 1,
    verifyMs: 5,
  });
  expect(await verifying.published(3, 5_000)).toBe(true);
  await verifying.stop();
});
