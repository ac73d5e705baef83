import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Restarter } from './restarter.js';

/** A server whose end and start the test controls. */
class Fake {
  pid: number | null = 1;
  starts = 0;
  refusals = 0;
  restart = (how: { ifEnded?: boolean } = {}): Promise<void> => {
    expect(how).toEqual({ ifEnded: true });
    this.starts += 1;
    if (this.refusals-- > 0) return Promise.reject(new Error('its port is taken'));
    this.pid = 1 + this.starts;
    return Promise.resolve();
  };
}

let reports: string[];
let restarter: Restarter;
beforeEach(() => {
  jest.useFakeTimers();
  reports = [];
  restarter = new Restarter((text) => reports.push(text.replace(/[\d.]+ s /, 'S ')));
});
afterEach(() => void jest.useRealTimers());

const end = (server: Fake): void => {
  server.pid = null;
  restarter.ended('nats', 'signal');
};

test('a server that ended is restarted after a delay and reported when ready', async () => {
  const nats = new Fake();
  restarter.watch({ nats });
  end(nats);
  expect(nats.starts).toBe(0);
  await jest.advanceTimersByTimeAsync(250);
  expect(reports).toEqual(['nats ended (signal); restarting in 250 ms', 'nats is ready again after S (pid 2)']);
});

test('the delay doubles with each early end up to 10 s and resets after 30 s', async () => {
  const nats = new Fake();
  restarter.watch({ nats });
  for (const delayMs of [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
    const { starts } = nats;
    end(nats);
    await jest.advanceTimersByTimeAsync(delayMs - 1);
    expect(nats.starts).toBe(starts);
    await jest.advanceTimersByTimeAsync(1);
    expect(nats.starts).toBe(starts + 1);
  }
  await jest.advanceTimersByTimeAsync(30_001);
  end(nats);
  await jest.advanceTimersByTimeAsync(250);
  expect(nats.starts).toBe(9);
});

test('a failing start is retried indefinitely, and each failure is reported', async () => {
  const nats = new Fake();
  nats.refusals = 2;
  restarter.watch({ nats });
  end(nats);
  await jest.advanceTimersByTimeAsync(250 + 500 + 1_000);
  expect(nats.pid).toBe(4);
  expect(reports).toEqual([
    'nats ended (signal); restarting in 250 ms',
    'nats does not start (retry in 500 ms): its port is taken',
    'nats does not start (retry in 1000 ms): its port is taken',
    'nats is ready again after S (pid 4)',
  ]);
});

test('stop() during the delay or a failing start prevents further starts', async () => {
  const nats = new Fake();
  nats.refusals = 1;
  restarter.watch({ nats });
  end(nats);
  restarter.stop();
  end(nats);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(nats.starts).toBe(0);
  expect(reports).toHaveLength(1);
});

test('a server that ends before all have started is restarted afterwards', async () => {
  const nats = new Fake();
  end(nats);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(nats.starts).toBe(0);
  restarter.watch({ nats });
  await jest.advanceTimersByTimeAsync(250);
  expect(nats.pid).toBe(2);
});

test('a server without restart() is left alone', async () => {
  restarter.watch({ nats: { pid: null } });
  restarter.ended('nats', 'code 1');
  await jest.advanceTimersByTimeAsync(60_000);
  expect(reports).toEqual([]);
});
