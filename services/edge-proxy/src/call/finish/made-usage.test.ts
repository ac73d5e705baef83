import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { send } from '../../../test/client.js';
import { startEdgeWorld, type EdgeWorld } from '../../../test/edge-world.js';
import { publishOwnModels, type OwnModel } from '../../../test/own-models.js';
import { startRawProvider, type RawProvider } from '../../../test/raw-provider.js';

let world: EdgeWorld;
let provider: RawProvider;
/** The provider of `aware` supports stream options, that of `unaware` does not. */
let unaware: OwnModel;
let aware: OwnModel;
let stream: readonly string[] = [];
/** The body that the provider received. */
let asked = '';

beforeAll(async () => {
  world = await startEdgeWorld();
  provider = await startRawProvider((socket) => {
    let request = '';
    socket.on('data', (bytes) => {
      request += bytes.toString();
      const [head = '', body] = request.split('\r\n\r\n');
      if (body?.length !== Number(/content-length: (\d+)/i.exec(head)?.[1])) return;
      asked = body ?? '';
      socket.end(wireOf(stream.join('')));
    });
    socket.resume();
  });
  [unaware, aware] = (await publishOwnModels(world, [
    [{ url: provider.url, more: { streamUsage: false } }],
    [{ url: provider.url }],
  ])) as [OwnModel, OwnModel];
}, 60_000);
afterAll(async () => {
  await provider.stop();
  await world.stop();
}, 60_000);

function wireOf(body: string): string {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${Buffer.byteLength(body)}`;
  return `${head}\r\nconnection: close\r\n\r\n${body}`;
}

const HEAD = { id: 'c1', object: 'chat.completion.chunk', created: 7, model: 'up' };
const chunk = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ ...HEAD, choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`;
const TEXT = chunk({ content: 'Hello.' });
const STOP = `data: ${JSON.stringify({ ...HEAD, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`;
const DONE = 'data: [DONE]\n\n';
const USAGE = { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 };
const ASKED = { stream_options: { include_usage: true } };

async function streamed({ model }: OwnModel, fields: object) {
  const answer = await send(world.edge.url, '/v1/chat/completions', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Say hello.' }], stream: true, ...fields }),
  });
  const event = await world.eventOf(String(answer.headers['x-gateway-request-id']));
  return { text: answer.body.toString(), event };
}

const made = (input: number, output: number): string => {
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  const details = { prompt_tokens_details: { cached_tokens: 0 } };
  return `data: ${JSON.stringify({ ...HEAD, choices: [], usage: { ...usage, ...details } })}\n\n`;
};

test('a client gets the charged usage before the marker if the provider has none', async () => {
  stream = [TEXT, STOP, DONE];
  const { text, event } = await streamed(unaware, ASKED);
  const { input = 0, output = 0 } = event.usage ?? {};
  expect(event).toMatchObject({ outcome: 'settled', evidence: 'estimated' });
  expect([input > 0, output > 0]).toEqual([true, true]);
  expect(text).toBe(TEXT + STOP + made(input, output) + DONE);
  expect(asked).not.toContain('stream_options');
  expect(JSON.parse(asked)).toMatchObject({ stream: true, messages: [{ role: 'user', content: 'Say hello.' }] });
});

test('a stream without a marker ends with the usage event', async () => {
  stream = [TEXT, STOP.trimEnd()];
  const { text, event } = await streamed(unaware, ASKED);
  const { input = 0, output = 0 } = event.usage ?? {};
  expect(text).toBe(`${TEXT}${STOP}${made(input, output)}`);
});

test("the usage event has the provider's numbers if it reports them elsewhere", async () => {
  stream = [TEXT, chunk({}, { x_groq: { usage: USAGE } }), STOP, DONE];
  const { text, event } = await streamed(unaware, ASKED);
  expect(event).toMatchObject({ evidence: 'reported', usage: { input: 20, output: 9 } });
  expect(text).toBe(stream.slice(0, -1).join('') + made(20, 9) + DONE);
});

test.each([
  ['the provider sends the usage itself', ASKED, [TEXT, chunk({}, { usage: USAGE }), STOP, DONE]],
  ['the client does not request it', {}, [TEXT, STOP, DONE]],
  ['the client disables it', { stream_options: { include_usage: false } }, [TEXT, STOP, DONE]],
])('no usage event is added when %s', async (_name, fields, events) => {
  stream = events;
  const { text } = await streamed(unaware, fields);
  expect(text).toBe(events.join(''));
  expect(asked).not.toContain('stream_options');
});

test('a provider that supports the option gets it; no usage event is added', async () => {
  stream = [TEXT, STOP, DONE];
  expect((await streamed(aware, ASKED)).text).toBe(stream.join(''));
  expect(JSON.parse(asked)).toMatchObject(ASKED);
});
