import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { UsageEvent } from '@gateway/contracts/messages';
import { counter } from '@gateway/service-kit';
import { TEST_PRICE } from '../../../test/fake-admission.js';
import { send, type Answer } from '../../../test/client.js';
import { startEdgeWorld, type EdgeWorld } from '../../../test/edge-world.js';
import { publishOwnModels, type OwnModel } from '../../../test/own-models.js';
import { PRICE_WITH_EXTRAS, RULES } from '../../../test/pricing-rules.js';
import { onRequest, startRawProvider, type RawProvider } from '../../../test/raw-provider.js';
import { SOURCE_LABELS } from '../catalog-metrics.js';

let world: EdgeWorld;
let provider: RawProvider;
let other: RawProvider;
/** The provider's response: a body, or the text of a stream. */
let answer: object | string = {};
/** Rules that read a header in addition to the fields. */
const BY_HEADER = {
  ...RULES,
  classes: [...RULES.classes, { ...RULES.classes[0], field: 'x-ms-service-tier' }],
} as typeof RULES;
/** `ruled` has one source with rules; `mixed` also has one without rules. */
let ruled: OwnModel;
let mixed: OwnModel;
let byHeader: OwnModel;
/** Model with one source that forwards everything. Its rules read classes, uses and costs. */
let forwarded: OwnModel;

beforeAll(async () => {
  world = await startEdgeWorld();
  provider = await startRawProvider((socket) => onRequest(socket, () => socket.end(wireOf(answer))));
  other = await startRawProvider((socket) => onRequest(socket, () => socket.end(wireOf(answer))));
  const withRules = { url: provider.url, more: { pricing: RULES } };
  const reporting = { ...RULES, reportedCostAt: { path: 'usage.cost', unit: 'usd' } } as const;
  [ruled, mixed, byHeader, forwarded] = (await publishOwnModels(world, [
    [withRules],
    [withRules, { url: other.url }],
    [{ url: provider.url, more: { pricing: BY_HEADER } }],
    [{ url: provider.url, more: { pricing: reporting, unpriced: 'forward' } }],
  ])) as [OwnModel, OwnModel, OwnModel, OwnModel];
}, 60_000);
afterAll(async () => {
  await Promise.all([provider.stop(), other.stop()]);
  await world.stop();
}, 60_000);
beforeEach(() => {
  for (const { model } of [ruled, mixed, byHeader, forwarded]) world.admission.prices.set(model, PRICE_WITH_EXTRAS);
});

function wireOf(body: object | string): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/event-stream' : 'application/json';
  return `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`;
}

const USAGE = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 };
/** At the standard price of {@link TEST_PRICE}. */
const STANDARD_NANO_USD = 2_000_000;
const completion = (more: object, usage: object = {}) => ({
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { ...USAGE, ...usage },
  ...more,
});

async function call({ model }: OwnModel, fields: object, path = '/v1/chat/completions'): Promise<Answer> {
  const prompt = path === '/v1/responses' ? { input: 'Hi.' } : { messages: [{ role: 'user', content: 'Hi.' }] };
  return send(world.edge.url, path, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, ...prompt, max_tokens: 1_000, ...fields }),
  });
}

async function settled(model: OwnModel, fields: object, path?: string): Promise<UsageEvent> {
  const got = await call(model, fields, path);
  expect(got.status).toBe(200);
  return world.eventOf(String(got.headers['x-gateway-request-id']));
}

const unpricedLines = (): number =>
  world.log.filter(({ text }) => text === 'a provider served a class or unit without a price').length;

test('a requested and served class is sent to admission and billed', async () => {
  answer = completion({ service_tier: 'priority' });
  const event = await settled(ruled, { service_tier: 'priority' });
  expect(event).toMatchObject({ amountNanoUsd: 2 * STANDARD_NANO_USD, served: { class: 'priority', units: {} } });
  expect(event.attempts).toMatchObject([{ served: { class: 'priority', units: {} } }]);
  expect(world.admission.admits.at(-1)?.entry).toMatchObject({
    requestedExtras: [{ class: 'priority', units: {}, field: 'service_tier' }],
  });
});

test.each([
  ['flex', 'flex', STANDARD_NANO_USD / 2],
  ['priority', 'default', STANDARD_NANO_USD],
])('a header requests %s, the response reports %s', async (asked, served, nanoUsd) => {
  answer = completion({ service_tier: served });
  const got = await send(world.edge.url, '/v1/chat/completions', {
    headers: { 'content-type': 'application/json', 'x-ms-service-tier': asked },
    body: JSON.stringify({ model: byHeader.model, messages: [{ role: 'user', content: 'Hi.' }], max_tokens: 1_000 }),
  });
  const event = await world.eventOf(String(got.headers['x-gateway-request-id']));
  expect(event.amountNanoUsd).toBe(nanoUsd);
  expect(world.admission.admits.at(-1)?.entry.requestedExtras).toEqual([
    { class: asked, units: {}, field: 'x-ms-service-tier' },
  ]);
});

test('priority that was served as default is billed as standard', async () => {
  answer = completion({ service_tier: 'default' });
  const event = await settled(ruled, { service_tier: 'priority' });
  expect(event.amountNanoUsd).toBe(STANDARD_NANO_USD);
  expect(event.served).toBeUndefined();
});

test('flex is billed at its price', async () => {
  answer = completion({ service_tier: 'flex' });
  expect((await settled(ruled, { service_tier: 'flex' })).amountNanoUsd).toBe(STANDARD_NANO_USD / 2);
});

test('an unknown class is billed as standard and logged', async () => {
  answer = completion({ service_tier: 'turbo' });
  for (const fields of [{}, { temperature: 1 }]) {
    expect(await settled(ruled, fields)).toMatchObject({ amountNanoUsd: STANDARD_NANO_USD, unpriced: ['turbo'] });
  }
  // Each response is counted, but only one of several at the same time is logged.
  expect(unpricedLines()).toBe(1);
});

test('a source that refuses nothing records unpriced names and the reported cost', async () => {
  answer = completion({ service_tier: 'priority' }, { cost: 0.5, server_tool_use: { web_search_requests: 2 } });
  const event = await settled(forwarded, { service_tier: 'priority', inference_geo: 'us', tools: [{ type: 'x' }] });
  expect(event).toMatchObject({
    amountNanoUsd: STANDARD_NANO_USD,
    unpriced: ['inference_geo', 'priority', 'web_search'],
    attempts: [{ reportedCostNanoUsd: 500_000_000 }],
  });
  expect(event.served).toBeUndefined();
  expect(world.admission.admits.at(-1)?.entry.requestedExtras).toBeUndefined();
});

test('a call without classes or tools adds no fields to admission and its event', async () => {
  answer = completion({ service_tier: 'default' });
  const event = await settled(ruled, { temperature: 1, tools: [{ type: 'function', function: { name: 'f' } }] });
  expect([event.served, event.unpriced]).toEqual([undefined, undefined]);
  expect(world.admission.admits.at(-1)?.entry.requestedExtras).toBeUndefined();
  expect(world.admission.admits.at(-1)?.entry.unpricedField).toBeUndefined();
});

test('a tool is billed by the uses that the response reports', async () => {
  answer = completion({}, { server_tool_use: { web_search_requests: 2 } });
  const event = await settled(ruled, { tools: [{ type: 'web_search', max_uses: 3 }] });
  expect(event).toMatchObject({
    amountNanoUsd: STANDARD_NANO_USD + 20_000,
    served: { class: 'standard', units: { web_search: 2 } },
  });
  expect(world.admission.admits.at(-1)?.entry.requestedExtras).toEqual([
    { class: 'standard', units: { web_search: 3 }, field: 'tools' },
  ]);
});

test('tool uses above the limit are charged, even above the hold', async () => {
  answer = completion({}, { server_tool_use: { web_search_requests: 9_000 } });
  const event = await settled(ruled, { tools: [{ type: 'web_search', max_uses: 1 }] });
  expect(event.amountNanoUsd).toBe(STANDARD_NANO_USD + 90_000_000);
  expect(event.amountNanoUsd).toBeGreaterThan(event.hold.worstNanoUsd);
});

test('a tool whose uses are not reported is billed once', async () => {
  answer = completion({});
  const event = await settled(ruled, { tools: [{ type: 'code_execution' }] });
  expect(event).toMatchObject({ amountNanoUsd: STANDARD_NANO_USD + 30_000, served: { units: { code: 1 } } });
});

test('tool calls are counted in the last event of a responses stream', async () => {
  const output = [{ type: 'file_search_call' }, { type: 'file_search_call' }, { type: 'message', content: [] }];
  const usage = { input_tokens: 1_000, output_tokens: 500, total_tokens: 1_500 };
  const events = [
    { type: 'response.created', response: { id: 'r', service_tier: 'auto', output: [] } },
    { type: 'response.output_text.delta', delta: 'Hello.' },
    { type: 'response.completed', response: { id: 'r', service_tier: 'flex', output, usage } },
  ];
  answer = events.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`).join('');
  const fields = { stream: true, service_tier: 'flex', tools: [{ type: 'file_search' }], max_output_tokens: 1_000 };
  const event = await settled(ruled, fields, '/v1/responses');
  expect(event).toMatchObject({
    amountNanoUsd: STANDARD_NANO_USD / 2 + 5_000,
    served: { class: 'flex', units: { file_search: 2 } },
  });
});

test('audio has its own price', async () => {
  answer = completion({}, { prompt_tokens_details: { audio_tokens: 100, cached_tokens: 0 } });
  const event = await settled(ruled, {});
  expect(event.amountNanoUsd).toBe(STANDARD_NANO_USD + 9 * 100 * 1_000);
  expect(event.usage?.kinds).toEqual({ audioInput: 100, imageInput: 0, audioOutput: 0, imageOutput: 0 });
});

test("admission's refusal of an unpriced field is sent to the client as final", async () => {
  world.admission.decide = ({ id, model, unpricedField }) =>
    unpricedField === undefined
      ? undefined
      : { kind: 'refused', id, code: 'model_not_priced', facts: { model: model ?? '', field: unpricedField } };
  const asked = provider.connections();
  const got = await call(ruled, { inference_geo: 'us' });
  world.admission.decide = () => undefined;
  expect(got.status).toBe(503);
  expect(got.headers['x-should-retry']).toBe('false');
  expect(JSON.parse(got.body.toString())).toMatchObject({
    error: { code: 'model_not_priced', param: 'inference_geo' },
  });
  expect(provider.connections()).toBe(asked);
});

test('a source that cannot price the request is skipped for another one', async () => {
  answer = completion({});
  const asked = [provider.connections(), other.connections()];
  const event = await settled(mixed, { inference_geo: 'us' });
  expect(event.source).toBe(mixed.ids[1]);
  expect([provider.connections(), other.connections()]).toEqual([asked[0], (asked[1] ?? 0) + 1]);
});

test('a source is skipped if the pinned version has no price for its reading', async () => {
  world.admission.prices.set(mixed.model, TEST_PRICE);
  world.admission.prices.set(ruled.model, TEST_PRICE);
  answer = completion({ service_tier: 'priority' });
  const asked = provider.connections();
  const event = await settled(mixed, { service_tier: 'priority' });
  expect(event).toMatchObject({ source: mixed.ids[1], amountNanoUsd: STANDARD_NANO_USD });
  const got = await call(ruled, { service_tier: 'priority' });
  expect(got.status).toBe(503);
  expect(JSON.parse(got.body.toString())).toMatchObject({
    error: {
      code: 'model_not_priced',
      param: 'service_tier',
      message: expect.stringContaining(`No price for priority of ${ruled.model}; an operator can set it.`),
    },
  });
  expect(provider.connections()).toBe(asked);
});

const costOf = (usd: number, streamed: boolean): object | string => {
  if (!streamed) return completion({}, { cost: usd });
  const chunk = (more: object) => `data: ${JSON.stringify({ object: 'chat.completion.chunk', ...more })}\n\n`;
  const delta = { index: 0, delta: { content: 'Hello.' }, finish_reason: 'stop' };
  return [chunk({ choices: [delta] }), chunk({ choices: [], usage: { ...USAGE, cost: usd } }), 'data: [DONE]\n\n'].join(
    '',
  );
};

test.each([
  ['plain', false],
  ['streamed', true],
])('the reported cost of a %s response is in its attempt and the metrics', async (_name, streamed) => {
  const costs = [{ version: 'cost', effectiveFrom: 0, figures: TEST_PRICE.figures }];
  const more = { pricing: { ...RULES, reportedCostAt: { path: 'usage.cost', unit: 'usd' as const } }, costs };
  const [reporting] = (await publishOwnModels(world, [[{ url: provider.url, more }]])) as [OwnModel];
  world.admission.prices.set(reporting.model, PRICE_WITH_EXTRAS);
  const event = async (usd: number) => {
    answer = costOf(usd, streamed);
    return settled(reporting, streamed ? { stream: true } : {});
  };
  const { attempts, amountNanoUsd } = await event(0.0015);
  expect(amountNanoUsd).toBe(STANDARD_NANO_USD);
  expect(attempts).toMatchObject([{ reportedCostNanoUsd: 1_500_000, usage: { input: 1_000, output: 500 } }]);
  const source = String(attempts[0]?.source);
  expect(reportedCosts(source)).toEqual({ reported: 0.0015, computed: 0.002 });
  await event(0.9);
  expect(reportedCosts(source)).toEqual({ reported: 0.0015, computed: 0.002 });
});

/** Cost in USD that the edge counted for a source. */
function reportedCosts(source: string): Record<string, number> {
  const help = 'Cost of responses that report it, as reported (recorded) and as computed';
  const labels = { ...SOURCE_LABELS, cost: ['reported', 'computed'] } as const;
  const cells = [...counter('gateway_edge_reported_cost_usd_total', help, labels).cells()];
  return Object.fromEntries(
    cells.flatMap(({ labels: of, cell }) => (of.source === source ? [[of.cost, cell.value]] : [])),
  );
}
