import { ManualClock } from '@gateway/testkit/clocks';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { connect } from 'nats';
import {
  faultCode,
  startBusWorld,
  USAGE_SETTINGS,
  TEST_TIMEOUT_MS,
  until,
  type BusWorld,
} from '../../test/bus-world.js';
import { recorded } from '../../test/messages.js';
import type { Bus, ConsumeOptions, StoredDelivery } from '../index.js';

jest.setTimeout(TEST_TIMEOUT_MS);

/** Longer than any wait of a test: the server delivers nothing again by itself. */
const ACK_WAIT_MS = 120_000;

let world: BusWorld;
let edge: Bus;
let billing: Bus;

beforeEach(async () => {
  world = await startBusWorld();
  [edge, billing] = await Promise.all([world.connect('edge-proxy'), world.connect('billing')]);
});
afterEach(() => world.stop());

function options(handler: ConsumeOptions['handler'], changed: Partial<ConsumeOptions> = {}): ConsumeOptions {
  return {
    stream: 'USAGE',
    durable: 'shard-0',
    filterSubject: 'test.recorded.0',
    batchMax: 50,
    maxAckPending: 500,
    ackWaitMs: ACK_WAIT_MS,
    handler,
    ...changed,
  };
}

function numberIn(delivery: StoredDelivery): number {
  const decoded = billing.decode(recorded, delivery.data);
  if (!decoded.ok) throw new Error(decoded.problem);
  return decoded.body.n;
}

async function storeNumbers(from: number, to: number): Promise<void> {
  await Promise.all(
    Array.from({ length: to - from }, (_, index) => edge.store(recorded, { shard: 0 }, { n: from + index })),
  );
}

/** Receives what consumers send to the server about deliveries. */
async function watchAcknowledgements(): Promise<{ readonly texts: readonly string[]; stop(): Promise<void> }> {
  const nats = await connect(world.owner);
  const texts: string[] = [];
  nats.subscribe('$JS.ACK.>', { callback: (_error, message) => void texts.push(message.string()) });
  await nats.flush();
  return { texts, stop: () => nats.close() };
}

/** Returns the number of messages that the server has not yet sent to the consumer. */
async function pendingMessages(): Promise<number> {
  const nats = await connect(world.owner);
  const answer = await nats.request('$JS.API.CONSUMER.INFO.USAGE.shard-0', '', { timeout: 10_000 });
  await nats.close();
  return answer.json<{ num_pending: number }>().num_pending;
}

test('a consumer that starts before its stream receives all messages in order', async () => {
  const batches: number[][] = [];
  billing.consume(
    options(async (batch) => {
      batches.push(batch.map(numberIn));
      for (const delivery of batch) delivery.ack();
    }),
  );
  await until('it is waiting', () => world.log.some(({ text }) => text === 'a stream cannot be read yet'));
  await billing.ensureStream(USAGE_SETTINGS);
  await storeNumbers(0, 500);
  await edge.store(recorded, { shard: 1 }, { n: -1 });
  await until('all', () => batches.flat().length >= 500);
  expect(batches.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 500 }, (_, n) => n));
  expect(Math.max(...batches.map((batch) => batch.length))).toBeLessThanOrEqual(50);
  expect(batches.length).toBeLessThan(250);
});

test('a batch has all messages that arrived while the handler was busy', async () => {
  await billing.ensureStream(USAGE_SETTINGS);
  const sizes: number[] = [];
  let release: () => void = () => undefined;
  const open = new Promise<void>((resolve) => (release = resolve));
  billing.consume(
    options(async (batch) => {
      sizes.push(batch.length);
      if (sizes.length === 1) await open;
      for (const delivery of batch) delivery.ack();
    }),
  );
  await storeNumbers(0, 1);
  await until('the first', () => sizes.length === 1);
  await storeNumbers(1, 31);
  await until('the server has sent all', async () => (await pendingMessages()) === 0);
  // The reply on the same connection arrives after the messages.
  await billing.streamState('USAGE');
  release();
  await until('all', () => sizes.reduce((sum, size) => sum + size, 0) === 31);
  expect(sizes).toEqual([1, 30]);
});

test('unacknowledged messages of a failing handler and undecodable ones reappear', async () => {
  await billing.ensureStream(USAGE_SETTINGS);
  const seen: { n: number; deliveryCount: number }[] = [];
  const poison: string[] = [];
  let failing = true;
  billing.consume(
    options(async (batch) => {
      for (const delivery of batch) {
        const decoded = billing.decode(recorded, delivery.data);
        if (!decoded.ok) poison.push(decoded.problem);
        else seen.push({ n: decoded.body.n, deliveryCount: delivery.deliveryCount });
        if (failing && decoded.ok && decoded.body.n === 1) {
          failing = false;
          throw new Error('a mistake');
        }
        delivery.ack();
      }
    }),
  );
  await edge.store(recorded, { shard: 0 }, { n: 0 });
  await edge.store(recorded, { shard: 0 }, Buffer.from('no json'));
  await edge.store(recorded, { shard: 0 }, { n: 1 });
  await until('delivered again', () => seen.some(({ deliveryCount }) => deliveryCount === 2));
  expect(seen.filter(({ n }) => n === 0)).toHaveLength(1);
  expect(seen.filter(({ n }) => n === 1).map(({ deliveryCount }) => deliveryCount)).toEqual([1, 2]);
  expect(poison).toEqual(['test.recorded: not JSON']);
});

test('deliveries in work or waiting are extended three times per ack wait', async () => {
  await billing.ensureStream(USAGE_SETTINGS);
  await storeNumbers(0, 2);
  const clock = new ManualClock();
  const timed = await world.connect('billing', { clock });
  const acknowledged = await watchAcknowledgements();
  let finish: () => void = () => undefined;
  const working = new Promise<void>((resolve) => (finish = resolve));
  const seen: number[] = [];
  const consumer = timed.consume(
    options(
      async (batch) => {
        seen.push(...batch.map(numberIn));
        await working;
        for (const delivery of batch) delivery.ack();
      },
      { batchMax: 1 },
    ),
  );
  await until('one is in work and one waits', async () => seen.length === 1 && (await pendingMessages()) === 0);
  await timed.streamState('USAGE');
  for (const extensions of [2, 4]) {
    await clock.advance(ACK_WAIT_MS / 3 - 1);
    await timed.streamState('USAGE');
    expect(acknowledged.texts).toHaveLength(extensions - 2);
    await clock.advance(1);
    await until('both are extended', () => acknowledged.texts.length === extensions);
  }
  expect(new Set(acknowledged.texts)).toEqual(new Set(['+WPI']));
  finish();
  await consumer.stop();
  await acknowledged.stop();
});

test('batches that are not full start collectMs apart, the first one at once', async () => {
  await billing.ensureStream(USAGE_SETTINGS);
  const batches: number[][] = [];
  const clock = new ManualClock();
  const timed = await world.connect('billing', { clock });
  const consumer = timed.consume(
    options(
      async (batch) => {
        batches.push(batch.map(numberIn));
        for (const delivery of batch) delivery.ack();
      },
      { collectMs: 400 },
    ),
  );
  await storeNumbers(0, 1);
  await until('the first comes alone', () => batches.length === 1);
  for (let n = 1; n < 10; n += 1) await storeNumbers(n, n + 1);
  await clock.advance(399);
  await timed.streamState('USAGE');
  expect(batches).toEqual([[0]]);
  await clock.advance(1);
  await until('all have come', () => batches.flat().length === 10);
  expect(batches).toHaveLength(2);
  await consumer.stop();
});

test.each([
  ['deliveries', { batchMax: 5 }],
  ['bytes', { collectBytes: 5 * Buffer.byteLength('{"n":10,"v":1}') }],
])('after a batch with enough %s the next one does not wait for collectMs', async (_what, full) => {
  await billing.ensureStream(USAGE_SETTINGS);
  await storeNumbers(10, 15);
  const batches: number[][] = [];
  const consumer = billing.consume(
    options(
      async (batch) => {
        batches.push(batch.map(numberIn));
        for (const delivery of batch) delivery.ack();
      },
      { collectMs: 3_600_000, ...full },
    ),
  );
  await until('the full one has come', () => batches.length === 1);
  await storeNumbers(15, 16);
  await until('the next one has come', () => batches.length === 2);
  expect(batches.map((batch) => batch.sort())).toEqual([[10, 11, 12, 13, 14], [15]]);
  await storeNumbers(16, 17);
  await edge.store(recorded, { shard: 1 }, { n: 0 });
  expect(batches).toHaveLength(2);
  await consumer.stop();
});

test('messages of one collect interval are one delivery, also after a server restart', async () => {
  await billing.ensureStream(USAGE_SETTINGS);
  const batches: number[][] = [];
  const consumer = billing.consume(
    options(
      async (batch) => {
        batches.push(batch.map(numberIn));
        for (const delivery of batch) delivery.ack();
      },
      { collectMs: 400 },
    ),
  );
  await storeNumbers(0, 1);
  await until('the first comes alone', () => batches.length === 1);
  await world.restart({ kill: true });
  await until('connected again', () => edge.connected() && billing.connected());
  await storeNumbers(1, 6);
  await until('all have come', () => batches.flat().length >= 6);
  expect([...new Set(batches.flat())].sort()).toEqual([0, 1, 2, 3, 4, 5]);
  await consumer.stop();
});

test('retryAfter() redelivers the message after about the stated time', async () => {
  await billing.ensureStream(USAGE_SETTINGS);
  const at: number[] = [];
  billing.consume(
    options(async ([delivery]) => {
      at.push(performance.now());
      if (at.length === 1) delivery?.retryAfter(300);
      else delivery?.ack();
    }),
  );
  await storeNumbers(0, 1);
  await until('twice', () => at.length === 2);
  expect(Number(at[1]) - Number(at[0])).toBeGreaterThanOrEqual(290);
});

test('a server kill loses no message, and a missing consumer is created again', async () => {
  await billing.ensureStream(USAGE_SETTINGS);
  const seen = new Set<number>();
  billing.consume(
    options(
      async (batch) => {
        for (const delivery of batch) {
          seen.add(numberIn(delivery));
          delivery.ack();
        }
      },
      { ackWaitMs: 2_000 },
    ),
  );
  await storeNumbers(0, 200);
  await until('the first part', () => seen.size === 200);

  const stored: number[] = [];
  let sending = true;
  const sender = (async () => {
    for (let n = 200; sending || n < 700; n += 1) {
      if ((await faultCode(edge.store(recorded, { shard: 0 }, { n }))) === 'no fault') stored.push(n);
      else await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  try {
    await world.restart({ kill: true });
    const before = stored.length;
    // Before the timeouts of this bus: the closed socket shows the loss.
    await until('consuming again', () => stored.slice(before).some((n) => seen.has(n)));
  } finally {
    sending = false;
    await sender;
  }
  await until('all that was stored', () => stored.every((n) => seen.has(n)));

  seen.clear();
  await world.restart({ kill: true, emptyState: true });
  await until('connected', () => edge.connected() && billing.connected());
  await billing.ensureStream(USAGE_SETTINGS);
  await storeNumbers(0, 20);
  await until('the new stream', () => seen.size === 20);
});

test('stop() waits for the handler and leaves no message and no open pull behind', async () => {
  await billing.ensureStream(USAGE_SETTINGS);
  let release: () => void = () => undefined;
  const open = new Promise<void>((resolve) => (release = resolve));
  const first: number[] = [];
  const consumer = billing.consume(
    options(
      async (batch) => {
        for (const delivery of batch) {
          first.push(numberIn(delivery));
          delivery.ack();
        }
        await open;
      },
      { batchMax: 1 },
    ),
  );
  await storeNumbers(0, 3);
  await until('the first', () => first.length === 1);
  let stopped = false;
  const stopping = consumer.stop().then(() => (stopped = true));
  await billing.streamState('USAGE');
  expect(stopped).toBe(false);
  release();
  await stopping;
  expect(first).toHaveLength(1);

  const second: number[] = [];
  billing.consume(
    options(async (batch) => {
      for (const delivery of batch) {
        second.push(numberIn(delivery));
        delivery.ack();
      }
    }),
  );
  await until('the rest', () => second.length === 2);
  expect([...first, ...second].sort()).toEqual([0, 1, 2]);
});

test('ackFloor() and storedMessage() report positions and messages', async () => {
  await billing.ensureStream(USAGE_SETTINGS);
  expect(await billing.ackFloor('USAGE', 'shard-0')).toBe(0);
  await storeNumbers(0, 3);
  await edge.store(recorded, { shard: 1 }, { n: 3 });
  await storeNumbers(4, 5);
  let seen = 0;
  billing.consume(
    options(async (batch) => {
      for (const delivery of batch) {
        seen += 1;
        if (delivery.sequence !== 3) delivery.ack();
      }
    }),
  );
  await until('it has acknowledged what is before the one that it keeps', async () => {
    return seen === 4 && (await billing.ackFloor('USAGE', 'shard-0')) === 2;
  });
  const [first, next] = [
    await billing.storedMessage('USAGE', 2),
    await billing.storedMessage('USAGE', 3, 'test.recorded.1'),
  ];
  expect(first).toMatchObject({ sequence: 2, subject: 'test.recorded.0', storedAtMs: expect.any(Number) });
  expect(billing.decode(recorded, first?.data ?? new Uint8Array(0))).toMatchObject({ ok: true });
  expect(next).toMatchObject({ sequence: 4, subject: 'test.recorded.1' });
  expect(await billing.storedMessage('USAGE', 6)).toBeNull();
  await billing.purgeStream('USAGE', 4);
  expect(await billing.storedMessage('USAGE', 4)).toBeNull();
  expect(await billing.storedMessage('USAGE', 1, 'test.recorded.1')).toBeNull();
  expect(await faultCode(edge.storedMessage('USAGE', 5))).toBe('forbidden');
});
