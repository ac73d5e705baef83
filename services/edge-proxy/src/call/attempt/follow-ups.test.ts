import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { send, type Answer } from '../../../test/client.js';
import { startEdgeWorld, type EdgeWorld } from '../../../test/edge-world.js';
import { publishOwnModel, type OwnModel, type OwnSource } from '../../../test/own-models.js';

const PATH = '/v1/responses';
const ANSWER = JSON.stringify({
  id: 'resp_own',
  object: 'response',
  status: 'completed',
  output: [
    { type: 'reasoning', id: 'rs_own', summary: [] },
    { type: 'code_interpreter_call', id: 'ci_own', container_id: 'cntr_own', code: '1' },
    { type: 'message', id: 'msg_own', role: 'assistant', content: [{ type: 'output_text', text: 'Hi.' }] },
  ],
  usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 },
});
const MESSAGE = JSON.stringify({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'Hi.' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 5, output_tokens: 5 },
  container: { id: 'container_own', expires_at: '2026-12-24T00:00:00Z' },
});

let world: EdgeWorld;
beforeAll(async () => {
  world = await startEdgeWorld();
}, 60_000);
afterAll(() => world.stop(), 60_000);
afterEach(() => world.provider.clearScripts());

const KEEPS = { more: { keepsState: true } };

function ask(model: OwnModel, fields: Record<string, unknown> = {}, path = PATH): Promise<Answer> {
  const body = JSON.stringify({ model: model.model, ...(path === PATH && { input: 'Say something.' }), ...fields });
  return send(world.edge.url, path, { headers: { 'content-type': 'application/json' }, body });
}

/** Returns the ID of a response, streamed or not. */
function idOf({ body }: Answer): string {
  return /"id":"(resp_[^"]+)"/.exec(body.toString())?.[1] ?? '';
}

function errorOf({ body }: Answer): unknown {
  return (JSON.parse(body.toString()) as { error: unknown }).error;
}

const notFound = (id: string): unknown =>
  expect.objectContaining({
    code: 'invalid_request',
    param: 'previous_response_id',
    message: `Previous response with id '${id}' not found.`,
  });

/** Returns the numbers of the sources that a call tried. */
async function triedBy(model: OwnModel, answer: Answer): Promise<number[]> {
  const { attempts } = await world.eventOf(String(answer.headers['x-gateway-request-id']));
  return attempts.map(({ source }) => model.ids.indexOf(source));
}

function script(model: OwnModel, listener: 'a' | 'b', status: number, text?: string): void {
  const steps = text === undefined ? [{ status }] : [{ status }, { chunk: text }];
  world.provider.script({ model: model.upstreamModel, listener, steps });
}

const twoSources = (more: Omit<OwnSource, 'url'> = KEEPS): Promise<OwnModel> => {
  const [a, b] = world.provider.urls;
  return publishOwnModel(world, { url: a, ...more }, { url: b, ...more });
};

test.each([false, true])(
  'a follow-up goes to the source of its response after failover; streamed: %s',
  async (stream) => {
    const model = await twoSources();
    script(model, 'a', 503);
    const first = await ask(model, { stream });
    expect(await triedBy(model, first)).toEqual([0, 1]);
    // The first source is healthy again and gets new calls.
    const second = await ask(model, { stream });
    expect(await triedBy(model, second)).toEqual([0]);
    const afterFirst = await ask(model, { stream, previous_response_id: idOf(first) });
    expect([afterFirst.status, await triedBy(model, afterFirst)]).toEqual([200, [1]]);
    // The first source is now in cooldown, so the second gets new calls.
    script(model, 'a', 429);
    expect(await triedBy(model, await ask(model))).toEqual([0, 1]);
    expect(await triedBy(model, await ask(model))).toEqual([1]);
    const afterSecond = await ask(model, { stream, previous_response_id: idOf(second) });
    expect([afterSecond.status, await triedBy(model, afterSecond)]).toEqual([200, [0]]);
  },
);

test('an error of the source that stored the response is final', async () => {
  const model = await twoSources();
  const first = await ask(model);
  script(model, 'a', 503);
  const answer = await ask(model, { previous_response_id: idOf(first) });
  expect([answer.status, await triedBy(model, answer)]).toEqual([503, [0]]);
});

test('the ID of a response with store: false is not remembered', async () => {
  const model = await twoSources();
  const first = await ask(model, { store: false });
  const next = await ask(model, { previous_response_id: idOf(first) });
  expect([next.status, errorOf(next)]).toEqual([400, notFound(idOf(first))]);
});

const FOREIGN: [string, string, Record<string, unknown>, string, string][] = [
  ['previous response', PATH, { previous_response_id: 'resp_x' }, 'Previous response', 'previous_response_id'],
  ['conversation', PATH, { conversation: { id: 'resp_x' } }, 'Conversation', 'conversation'],
  ['item', PATH, { input: [{ type: 'item_reference', id: 'resp_x' }] }, 'Item', 'input'],
  ['container', PATH, { tools: [{ type: 'code_interpreter', container: 'resp_x' }] }, 'Container', 'tools'],
  ['container', '/v1/messages', { container: 'resp_x', max_tokens: 9, messages: [] }, 'Container', 'container'],
];

test.each(FOREIGN)('a foreign %s on %s is refused without an attempt', async (_what, path, fields, noun, param) => {
  const model = await twoSources({ more: {} });
  const answer = await ask(model, fields, path);
  const message = `${noun} with id 'resp_x' not found.`;
  expect([answer.status, answer.body.toString()]).toEqual([400, expect.stringContaining(message)]);
  if (path === PATH) expect(errorOf(answer)).toMatchObject({ code: 'invalid_request', param, message });
  expect(world.provider.calls({ model: model.upstreamModel })).toEqual([]);
});

test('stored responses, items and containers belong to the account that received them', async () => {
  const model = await twoSources();
  script(model, 'a', 200, ANSWER);
  await ask(model);
  world.provider.clearScripts();
  const uses = [
    { previous_response_id: 'resp_own' },
    { input: [{ type: 'item_reference', id: 'msg_own' }] },
    { input: [{ type: 'reasoning', id: 'rs_own', summary: [] }] },
    { tools: [{ type: 'code_interpreter', container: 'cntr_own' }] },
  ];
  const statuses = async () => Promise.all(uses.map(async (fields) => (await ask(model, fields)).status));
  expect(await statuses()).toEqual([200, 200, 200, 200]);
  const own = world.admission.account;
  world.admission.account = 'acc-other';
  try {
    expect(await statuses()).toEqual([400, 400, 400, 400]);
    // Items with their content do not refer to a stored object.
    const whole = { type: 'message', role: 'assistant', id: 'msg_own', content: [{ type: 'output_text', text: 'x' }] };
    expect((await ask(model, { input: [whole] })).status).toBe(200);
  } finally {
    world.admission.account = own;
  }
});

test('the container of a message belongs to the account that received it', async () => {
  const model = await twoSources({ more: {} });
  script(model, 'a', 200, MESSAGE);
  const fields = { max_tokens: 9, messages: [{ role: 'user', content: 'Hi.' }] };
  await ask(model, fields, '/v1/messages');
  world.provider.clearScripts();
  const own = await ask(model, { ...fields, container: 'container_own' }, '/v1/messages');
  const foreign = await ask(model, { ...fields, container: { id: 'container_x' } }, '/v1/messages');
  expect([own.status, foreign.status]).toEqual([200, 400]);
});

test.each([
  ['stores no state', { keepsState: false }],
  ['accepts foreign IDs', { foreignIds: 'forward' as const }],
])('a foreign ID is sent only to the source that %s', async (_what, more) => {
  const [a, b] = world.provider.urls;
  const model = await publishOwnModel(world, { url: a }, { url: b, more });
  const answer = await ask(model, { previous_response_id: 'resp_of_long_ago' });
  expect([answer.status, await triedBy(model, answer)]).toEqual([200, [1]]);
});

test('a request with duplicate fields, or fields in another case, is refused', async () => {
  const model = await twoSources();
  for (const fields of ['"previous_response_id":null,"previous_response_id":"x"', '"Conversation":"x"']) {
    const body = `{"model":"${model.model}","input":"Hi",${fields}}`;
    const answer = await send(world.edge.url, PATH, { headers: { 'content-type': 'application/json' }, body });
    expect([answer.status, errorOf(answer)]).toEqual([400, expect.objectContaining({ code: 'invalid_request' })]);
  }
});

test('a follow-up goes to other sources after its source was removed from the model', async () => {
  const model = await twoSources();
  script(model, 'a', 503);
  const first = await ask(model);
  world.admission.sources.set(model.model, [model.ids[0] as string]);
  expect(await triedBy(model, await ask(model, { previous_response_id: idOf(first) }))).toEqual([0]);
});
