import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { formatPackedEvent, usageEvents, usageSubjects, type UsageEvent } from '@gateway/contracts/messages';
import { startTestBus, until, type TestBus } from '@gateway/testkit';
import { testEvent } from '../../test/test-event.js';
import { formatLine } from '../journal/unstored-line.js';

const PROGRAM = fileURLToPath(new URL('../../dist/commands/replay-usage.js', import.meta.url));
const EVENTS_TOTAL = 250;

let bus: TestBus;
beforeAll(async () => {
  bus = await startTestBus();
}, 60_000);
afterAll(() => bus?.stop());

async function replay(log: string): Promise<{ code: number; told: string }> {
  const env = { PATH: process.env['PATH'], GATEWAY_NATS_URL: bus.urlFor('edge-proxy') };
  const child = spawn(process.execPath, [PROGRAM], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let told = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (told += String(text)));
  child.stdin.end(log);
  const [code] = (await once(child, 'close')) as [number];
  return { code, told };
}

test("the command stores every event of an edge's log byte for byte", async () => {
  const billing = await bus.connect('billing');
  const stored: UsageEvent[] = [];
  await billing.ensureStream({
    stream: 'USAGE',
    subjects: usageSubjects(),
    bytesMax: 16 * 1024 * 1024,
    ageMaxMs: 3_600_000,
    duplicateWindowMs: 1_000,
    replicas: 1,
    discard: 'new',
  });
  const consumer = billing.consume({
    stream: 'USAGE',
    durable: 'test',
    filterSubject: 'usage.>',
    batchMax: 100,
    maxAckPending: 1_000,
    ackWaitMs: 30_000,
    handler: (batch) => {
      for (const delivery of batch) {
        const decoded = billing.decode(usageEvents, delivery.data);
        if (decoded.ok) stored.push(...decoded.body.events);
        delivery.ack();
      }
      return Promise.resolve();
    },
  });
  const events = Array.from({ length: EVENTS_TOTAL }, () => testEvent());
  const lines = events.map((event, index) =>
    formatLine({ shard: index % 4, json: Buffer.from(formatPackedEvent(event)) }),
  );
  const log = [
    '{"text":"stopping"}',
    ...lines.map((line) => `pod/edge-1 ${JSON.stringify({ level: 'error', ...line })}`),
  ];
  expect(await replay(log.join('\n'))).toEqual({
    code: 0,
    told: `${EVENTS_TOTAL} events stored, 1 other lines, 0 unreadable lines\n`,
  });
  await until('all are delivered', () => stored.length >= EVENTS_TOTAL);
  const texts = (list: readonly UsageEvent[]): string[] => list.map((event) => JSON.stringify(event)).sort();
  expect(texts(stored)).toEqual(texts(events));
  await consumer.stop();
}, 60_000);

test('the command reports a truncated line by its number and fails', async () => {
  const { code, told } = await replay('{"unstoredUsage":1,"shard":0,"event":"{\\"id');
  expect(code).toBe(1);
  expect(told).toContain('line 1: it is truncated');
}, 60_000);
