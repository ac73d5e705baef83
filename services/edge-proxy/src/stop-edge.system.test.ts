import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import { begin, bytesOf, chat } from '../test/client.js';
import { startEdgeWorld, type EdgeWorld } from '../test/edge-world.js';
import { FORMATS, type Format } from '../test/formats.js';
import { publishOwnModel } from '../test/own-models.js';

const TIMEOUT_MS = 60_000;
const FIRST = 'data: {"choices":[{"index":0,"delta":{"content":"one"},"finish_reason":null}]}\n\n';
const RESPONSES = FORMATS.find(({ path }) => path === '/v1/responses') as Format;
const DONE = 'data: [DONE]\n\n';

let directory: string;
let world: EdgeWorld;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'gateway-stop-'));
  // Much longer than a test waits for anything.
  world = await startEdgeWorld({
    // Tests hang NATS.
    own: true,
    env: { GATEWAY_DRAIN_MS: '50000', GATEWAY_USAGE_SPOOL_DIRECTORY: directory },
  });
}, TIMEOUT_MS);
afterEach(async () => {
  await world.stop();
  rmSync(directory, { recursive: true });
}, TIMEOUT_MS);

/** Begins a stream that ends when the provider is released by this name. */
async function beginStream(name: string): Promise<{ readonly id: string; isComplete(): boolean }> {
  world.provider.script({ model: 'upstream-model', steps: [{ chunk: FIRST }, { waitFor: name }, { chunk: DONE }] });
  const answer = await begin(world.edge.url, '/v1/chat/completions', chat({ stream: true }));
  let seen = '';
  answer.on('data', (chunk: Buffer) => (seen += chunk.toString()));
  await until('the stream has begun', () => seen === FIRST);
  return { id: String(answer.headers['x-gateway-request-id']), isComplete: () => answer.complete };
}

/** Returns the text of a file, or nothing if it was removed meanwhile. */
const textOf = (name: string): string => {
  try {
    return readFileSync(join(directory, name), 'utf8');
  } catch {
    return '';
  }
};
const left = (): string => readdirSync(directory).map(textOf).join('');

test(
  'the spool has the usage of ended calls while NATS hangs, until it is stored',
  async () => {
    const call = await beginStream('end');
    const resume = world.hangNats();
    const stopped = world.edge.stop();
    try {
      world.provider.release('end');
      await until('the answer is complete', () => call.isComplete());
      await until('its usage is in the spool', () => left().includes(call.id));
    } finally {
      resume();
    }
    await stopped;
    expect(readdirSync(directory)).toEqual([]);
    expect(await world.eventOf(call.id)).toMatchObject({ outcome: 'settled' });
  },
  TIMEOUT_MS,
);

// Covers an edge is told to stop
test(
  'the spool has the usage of each ended call once while others still run',
  async () => {
    const [ends, runs] = [await beginStream('first'), await beginStream('second')];
    const resume = world.hangNats();
    const stopped = world.edge.stop();
    try {
      world.provider.release('first');
      await until('the first answer is complete', () => ends.isComplete());
      await until('its usage is in the spool', () => left().includes(ends.id));
      expect(runs.isComplete()).toBe(false);
      world.provider.release('second');
      // The lines are in separate files, or in one file if the stop waits for no more calls.
      const linesOf = ({ id }: { id: string }) =>
        left()
          .split('\n')
          .filter((line) => line.includes(id));
      await until('the spool has each once', () => [ends, runs].every((call) => linesOf(call).length === 1));
    } finally {
      resume();
    }
    await stopped;
    expect(readdirSync(directory)).toEqual([]);
    for (const { id } of [ends, runs]) expect(await world.eventOf(id)).toMatchObject({ outcome: 'settled' });
  },
  TIMEOUT_MS,
);

test(
  'the response of an ended call is sent completely while idle connections close',
  async () => {
    const model = await publishOwnModel(world, { url: world.provider.urls[0] });
    const output = [{ type: 'image_generation_call', result: 'x'.repeat(7_000_000) }];
    const usage = { input_tokens: 1, output_tokens: 2 };
    const last = { type: 'response.completed', response: { id: 'r', status: 'completed', output, usage } };
    const events = `${RESPONSES.first}event: response.completed\ndata: ${JSON.stringify(last)}\n\n`;
    world.provider.script({ model: model.upstreamModel, steps: [{ chunk: events }] });
    const idle = connect(world.edge.port, '127.0.0.1');
    await once(idle, 'connect');
    const answer = await begin(world.edge.url, RESPONSES.path, RESPONSES.request({ model: model.model, stream: true }));
    const id = String(answer.headers['x-gateway-request-id']);
    const read = bytesOf(answer);
    await world.eventOf(id);
    const closed = once(idle, 'close');
    const stopped = world.edge.stop();
    await closed;
    const bytes = await read;
    expect([bytes.length, answer.complete]).toEqual([events.length, true]);
    await stopped;
  },
  TIMEOUT_MS,
);
