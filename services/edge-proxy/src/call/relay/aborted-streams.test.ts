import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import type { Socket } from 'node:net';
import { chat } from '../../../test/client.js';
import { startEdgeWorld, TEST_KEY, type EdgeWorld } from '../../../test/edge-world.js';
import { FORMATS, type Format } from '../../../test/formats.js';
import { publishOwnModels, type OwnModel } from '../../../test/own-models.js';
import { rawClient } from '../../../test/raw-answers.js';
import { startRawProvider, type RawProvider } from '../../../test/raw-provider.js';
import { HELD_RESPONSES, REQUEST_BODIES } from '../../memory/held-bytes.js';

const STREAMS = 500;
const AT_ONCE = 100;
/** Timeout for a round, which takes two seconds on an idle machine. */
const WAIT_MS_MAX = 60_000;
const { first } = FORMATS[0] as Format;

let world: EdgeWorld;
let provider: RawProvider;
/** Connections from the edge to the provider. */
const upstream = new Set<Socket>();
let models: OwnModel[] = [];

beforeAll(async () => {
  world = await startEdgeWorld({ env: { GATEWAY_READ_AFTER_DISCONNECT_MS: '100' } });
  provider = await startRawProvider((socket) => {
    upstream.add(socket);
    socket.on('close', () => upstream.delete(socket));
    socket.on('end', () => socket.destroy());
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n');
      socket.write(`${first.length.toString(16)}\r\n${first}\r\n`);
    });
    socket.resume();
  });
  const source = { url: provider.url };
  models = await publishOwnModels(world, [[source], [{ ...source, more: { cancelStopsBilling: true } }]]);
}, 60_000);
afterAll(async () => {
  await world.stop();
  await provider.stop();
}, 60_000);

/** Opens streams and leaves them, some before and some after their first event. */
async function round(): Promise<void> {
  for (let done = 0; done < STREAMS; done += AT_ONCE) {
    const clients = Array.from({ length: AT_ONCE }, (_, at) => {
      const body = String(chat({ model: (models[at % 2] as OwnModel).model, stream: true }).body);
      const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\n`;
      const rest = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
      return rawClient(world.edge.port, head + rest);
    });
    const early = clients.filter((_, at) => at % 4 < 2);
    await until('some have reached the provider', () => upstream.size > 0, WAIT_MS_MAX);
    for (const { socket } of early) socket.destroy();
    const late = clients.filter((_, at) => at % 4 >= 2);
    await until('the others stream', () => late.every((client) => client.wire().includes('data: ')), WAIT_MS_MAX);
    for (const { socket } of late) socket.destroy();
    await until('the edge has disconnected', () => upstream.size === 0, WAIT_MS_MAX);
  }
  await until('every hold is released', () => {
    const released = new Set(world.admission.releases.map(({ id }) => id));
    return [...world.admission.holds.keys()].every((id) => released.has(id));
  });
  await until('a heartbeat has no calls', () => world.admission.heartbeats.at(-1)?.calls.length === 0);
}

/** Counts the active resources of the process by type. */
function resources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

test(`a second round of ${STREAMS} aborted streams leaks no resources`, async () => {
  await round();
  const first = resources();
  const listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
  const events = world.events.length;
  await round();
  for (const kind of ['TCPSocketWrap', 'TCPServerWrap', 'Timeout', 'Immediate']) {
    await until(`no more of ${kind} than before`, () => (resources()[kind] ?? 0) <= (first[kind] ?? 0));
  }
  expect(process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)).toBe(listeners);
  expect(upstream.size).toBe(0);
  for (const held of [HELD_RESPONSES, REQUEST_BODIES]) expect(held.held).toBe(0);
  // Half of the streams had an event. Each has a record with a charge within its hold.
  expect(world.events.length - events).toBeGreaterThanOrEqual(STREAMS / 2);
  for (const { attempts, amountNanoUsd, hold } of world.events) {
    expect(attempts[0]?.outcome).toBe('abandoned');
    expect(amountNanoUsd).toBeLessThanOrEqual(hold.worstNanoUsd);
  }
}, 600_000);
