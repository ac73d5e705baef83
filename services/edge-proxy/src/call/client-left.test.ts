import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { request, type ClientRequest } from 'node:http';
import { until } from '@gateway/testkit';
import { chat, send } from '../../test/client.js';
import { startEdgeWorld, TEST_KEY, type EdgeWorld } from '../../test/edge-world.js';
import { FORMATS, type Format } from '../../test/formats.js';
import { publishOwnModel, type OwnModel, type OwnSource } from '../../test/own-models.js';

const PATH = '/v1/chat/completions';
const DEADLINE_MS = 2_000;
const { first, delta, usage, done } = FORMATS[0] as Format;
/** Estimated usage of the request bodies: the messages at 3 bytes a token, without output. */
const INPUT_TOKENS = Math.ceil(Buffer.byteLength('[{"role":"user","content":"Say something."}]') / 3);
const INPUT_NANO_USD = INPUT_TOKENS * 1_000;

let world: EdgeWorld;
beforeAll(async () => {
  world = await startEdgeWorld({ env: { GATEWAY_UPSTREAM_DEADLINE_MS: String(DEADLINE_MS) } });
}, 60_000);
afterAll(() => world.stop(), 60_000);
afterEach(() => world.provider.clearScripts());

type Steps = Parameters<EdgeWorld['provider']['script']>[0]['steps'];

interface Left {
  readonly model: OwnModel;
  readonly id: string;
  /** Lets the provider continue after its `waitFor`. */
  goOn(): void;
}

/**
 * Makes a call whose client leaves when the provider has received it; for a stream, when the client
 * has its first event.
 */
async function leave(
  steps: Steps,
  fields: { stream?: boolean } = {},
  source: Partial<OwnSource> = {},
  at = world,
): Promise<Left> {
  const { provider, admission, edge } = at;
  const model = await publishOwnModel(at, { url: provider.urls[0], ...source });
  const own = steps.map((step) => ('waitFor' in step ? { waitFor: model.model } : step));
  provider.script({ model: model.upstreamModel, steps: own });
  const client = ask(model, fields, edge.url);
  let seen = '';
  client.on('response', (answer) => answer.on('data', (bytes: Buffer) => (seen += bytes.toString())));
  await until('the provider has received the call', () => provider.calls({ model: model.upstreamModel }).length > 0);
  const id = admission.admits.at(-1)?.entry.id ?? '';
  const begins = fields.stream === true && steps.some((step) => 'chunk' in step && step.chunk === first);
  await until('the client has all sent bytes', () => !begins || seen.includes(first));
  const closed = new Promise((resolve) => client.on('close', resolve));
  client.destroy();
  await closed;
  // The edge answers these requests only after it has seen the connection close.
  for (let asked = 0; asked < 3; asked += 1) await send(edge.url, '/api/gateway/config');
  return { model, id, goOn: () => provider.release(model.model) };
}

function ask(model: OwnModel, fields: object, url: string): ClientRequest {
  const { headers, body } = chat({ model: model.model, ...fields });
  const client = request(new URL(PATH, url), {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${TEST_KEY}` },
    agent: false,
  });
  client.on('error', () => undefined);
  client.end(body);
  return client;
}

const isHeld = (id: string): boolean =>
  world.admission.heartbeats.at(-1)?.calls.some((call) => call.id === id) === true;

test.each([false, true])(
  'a call left before its head (stream: %s) ends at the deadline and pays input',
  async (stream) => {
    const { id, model } = await leave([{ end: 'stall' }], { stream });
    await until('a heartbeat names the call', () => isHeld(id));
    const event = await world.eventOf(id);
    expect(event).toMatchObject({
      outcome: 'settled',
      evidence: 'estimated',
      status: null,
      source: model.ids[0],
      usage: { input: INPUT_TOKENS, output: 0 },
      amountNanoUsd: INPUT_NANO_USD,
      attempts: [{ outcome: 'abandoned', possiblyPaid: true }],
    });
    expect(event.endedAt - event.startedAt).toBeGreaterThanOrEqual(DEADLINE_MS);
    await until('the slot is released', () => world.admission.releases.some((release) => release.id === id));
  },
  20_000,
);

test.each<[string, boolean, Steps]>([
  ['refuses', false, [{ waitFor: 'x' }, { status: 500 }]],
  ['disconnects before its head', false, [{ waitFor: 'x' }, { end: 'cut' }]],
  ['cuts a non-streamed response', false, [{ chunk: '{"choices":' }, { waitFor: 'x' }, { end: 'cut' }]],
  ['cuts a stream', true, [{ chunk: first }, { waitFor: 'x' }, { end: 'cut' }]],
  ['ends a stream without a final marker', true, [{ chunk: first }, { waitFor: 'x' }, { chunk: delta('lo') }]],
  [
    'reports an error in a stream',
    true,
    [{ chunk: first }, { waitFor: 'x' }, { chunk: 'data: {"error":{"code":500}}\n\n' }],
  ],
])('a call is voided if its provider %s after the client left', async (_name, stream, steps) => {
  const { id, goOn } = await leave(steps, { stream });
  goOn();
  expect(await world.eventOf(id)).toMatchObject({ outcome: 'voided', amountNanoUsd: 0, usage: null });
});

test('a left stream without usage is charged for the delivered text only', async () => {
  const { id, goOn } = await leave(
    [{ chunk: first }, { waitFor: 'x' }, { chunk: delta('x'.repeat(300)) }, { chunk: done }],
    {
      stream: true,
    },
  );
  goOn();
  expect(await world.eventOf(id)).toMatchObject({
    evidence: 'estimated',
    usage: { input: INPUT_TOKENS, output: 1 },
    amountNanoUsd: INPUT_NANO_USD + 2_000,
  });
});

test('a left non-streamed response without usage is charged for its input', async () => {
  const answer = JSON.stringify({ choices: [{ message: { content: 'x'.repeat(300) }, finish_reason: 'stop' }] });
  const { id, goOn } = await leave([{ waitFor: 'x' }, { chunk: answer }]);
  goOn();
  expect(await world.eventOf(id)).toMatchObject({ evidence: 'estimated', amountNanoUsd: INPUT_NANO_USD });
});

test('a left stream is read on until it is silent and charged by its usage', async () => {
  const alive = Array.from({ length: 6 }, () => ({ delayMs: DEADLINE_MS / 4, chunk: first }));
  const { id } = await leave([{ chunk: first }, ...alive, { chunk: usage }, { chunk: done }], { stream: true });
  const event = await world.eventOf(id);
  expect(event).toMatchObject({ outcome: 'settled', evidence: 'reported', usage: { input: 3, output: 5 } });
  expect(event.endedAt - event.startedAt).toBeGreaterThan(DEADLINE_MS);
});

test.each<[string, Steps]>([
  ['before its head', [{ delayMs: DEADLINE_MS / 8, chunk: ': wait\n\n' }]],
  ['after its head', [{ chunk: ': wait\n\n' }]],
])(
  'a stream left %s with only comments ends at the deadline and pays its input',
  async (_name, steps) => {
    const alive = Array.from({ length: 36 }, () => ({ delayMs: DEADLINE_MS / 4, chunk: ': still here\n\n' }));
    const { id } = await leave([...steps, ...alive, { end: 'stall' }], { stream: true });
    const event = await world.eventOf(id);
    expect(event).toMatchObject({
      outcome: 'settled',
      evidence: 'estimated',
      usage: { input: INPUT_TOKENS, output: 0 },
      attempts: [{ outcome: 'abandoned', possiblyPaid: true }],
    });
    const lastedMs = event.endedAt - event.startedAt;
    expect(lastedMs).toBeGreaterThanOrEqual(DEADLINE_MS);
    expect(lastedMs).toBeLessThan(DEADLINE_MS * 4);
    await until('the slot is released', () => world.admission.releases.some((release) => release.id === id));
  },
  20_000,
);

test("a source's first-event limit applies after the client has left", async () => {
  const patient = await startEdgeWorld({ env: { GATEWAY_UPSTREAM_DEADLINE_MS: '10000' } });
  try {
    const limits = { firstEventTimeoutMs: DEADLINE_MS / 4 };
    const { id } = await leave([{ chunk: ': wait\n\n' }, { end: 'stall' }], { stream: true }, { limits }, patient);
    const event = await patient.eventOf(id);
    expect(event).toMatchObject({ outcome: 'settled', attempts: [{ outcome: 'abandoned' }] });
    expect(event.endedAt - event.startedAt).toBeLessThan(5_000);
  } finally {
    await patient.stop();
  }
}, 60_000);

test.each<[string, Steps]>([
  ['falls silent', []],
  [
    'then sends only comments',
    Array.from({ length: 36 }, () => ({ delayMs: DEADLINE_MS / 4, chunk: ': still here\n\n' })),
  ],
])(
  'a left stream that %s ends after the silence limit and pays its text',
  async (_name, rest) => {
    const { id } = await leave([{ chunk: first }, ...rest, { end: 'stall' }], { stream: true });
    const event = await world.eventOf(id);
    expect(event).toMatchObject({ evidence: 'estimated', usage: { input: INPUT_TOKENS, output: 1 } });
    expect(event.endedAt - event.startedAt).toBeGreaterThanOrEqual(DEADLINE_MS);
    expect(event.endedAt - event.startedAt).toBeLessThan(DEADLINE_MS * 4);
  },
  20_000,
);

test('a left stream without a response costs nothing if a cancel stops billing', async () => {
  const { id } = await leave(
    [{ chunk: ': wait\n\n' }, { end: 'stall' }],
    { stream: true },
    { more: { cancelStopsBilling: true } },
  );
  expect(await world.eventOf(id)).toMatchObject({
    outcome: 'voided',
    amountNanoUsd: 0,
    usage: null,
    attempts: [{ outcome: 'abandoned', possiblyPaid: false }],
  });
});
