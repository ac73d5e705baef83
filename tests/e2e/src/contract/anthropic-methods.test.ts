// Tests the unchanged official client of the messages protocol: its methods, error classes and
// retries.
import { afterAll, expect, test } from '@jest/globals';
import Anthropic, {
  APIConnectionError,
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from '@anthropic-ai/sdk';
import { ONE_OF_EACH_STATUS, titleOf } from '../../test/contract-error-cases.js';
import { REFUSALS } from '../../test/contract-refusals.js';
import { startContractWorld } from '../../test/contract-world.js';

const messages = [{ role: 'user' as const, content: 'Say hello.' }];
const tools = [{ name: 'weather', input_schema: { type: 'object' as const } }];

const world = await startContractWorld();
const model = world.model.id;
const client = clientOf(world.rich.secret);
afterAll(() => world.stop());

function clientOf(apiKey: string, options: { maxRetries?: number } = { maxRetries: 0 }): Anthropic {
  return new Anthropic({ apiKey, authToken: null, baseURL: world.url, ...options });
}

test('messages return a plain response with usage', async () => {
  const message = await client.messages.create({ model, max_tokens: 50, messages });
  expect([message.type, message.stop_reason, message.content[0]?.type]).toEqual(['message', 'end_turn', 'text']);
  expect([message.usage.input_tokens > 0, message.usage.output_tokens > 0]).toEqual([true, true]);
});

test('messages accept the key as a token, as coding tools send it', async () => {
  const bearer = new Anthropic({ apiKey: null, authToken: world.rich.secret, baseURL: world.url, maxRetries: 0 });
  expect((await bearer.messages.create({ model, max_tokens: 50, messages })).type).toBe('message');
});

test('messages stream event by event and collected', async () => {
  const types: string[] = [];
  for await (const event of await client.messages.create({ model, max_tokens: 50, messages, stream: true })) {
    types.push(event.type);
  }
  expect([types[0], types.at(-1)]).toEqual(['message_start', 'message_stop']);
  expect(types).toContain('content_block_delta');
  const final = await client.messages.stream({ model, max_tokens: 50, messages }).finalMessage();
  expect([final.stop_reason, final.usage.output_tokens > 0]).toEqual(['end_turn', true]);
});

test('messages return tool calls, plain and streamed', async () => {
  const params = { model, max_tokens: 50, messages, tools, tool_choice: { type: 'tool' as const, name: 'weather' } };
  const message = await client.messages.create(params);
  expect(message.content.find(({ type }) => type === 'tool_use')).toMatchObject({ name: 'weather', input: {} });
  const final = await client.messages.stream(params).finalMessage();
  expect(final.content.find(({ type }) => type === 'tool_use')).toMatchObject({ name: 'weather', input: {} });
});

test('countTokens works, also in the beta interface with its query', async () => {
  expect((await client.messages.countTokens({ model, messages })).input_tokens).toBeGreaterThan(0);
  expect((await client.beta.messages.countTokens({ model, messages })).input_tokens).toBeGreaterThan(0);
  expect((await client.beta.messages.create({ model, max_tokens: 50, messages })).type).toBe('message');
});

test('the model list contains the model', async () => {
  const models: { id: string; display_name: string }[] = [];
  for await (const entry of client.models.list()) models.push(entry);
  expect(models).toContainEqual(
    expect.objectContaining({ id: model, type: 'model', display_name: expect.any(String) }),
  );
});

const CLASSES: Readonly<Record<number, new (...args: never[]) => Error>> = {
  400: BadRequestError,
  401: AuthenticationError,
  402: APIError,
  403: PermissionDeniedError,
  404: NotFoundError,
  413: APIError,
  429: RateLimitError,
};
test.concurrent.each(ONE_OF_EACH_STATUS.map((situation) => [titleOf(situation), situation] as const))(
  '%s throws its typed error',
  async (_title, { arrange, expected }) => {
    const call = (await arrange(world))('messages');
    const error: unknown = await clientOf(call.secret ?? '')
      .messages.create(call.body as Anthropic.MessageCreateParamsNonStreaming)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CLASSES[expected.status] ?? InternalServerError);
    expect(error).toMatchObject({
      status: expected.status,
      requestID: expect.stringMatching(/^[0-9a-f-]{36}$/),
      error: { type: 'error', error: { type: expected.messagesType, code: expected.code } },
    });
  },
);

test('an unreachable gateway throws APIConnectionError', async () => {
  const nobody = new Anthropic({ apiKey: 'x', baseURL: 'http://127.0.0.1:9', maxRetries: 0 });
  await expect(nobody.messages.create({ model, max_tokens: 50, messages })).rejects.toBeInstanceOf(APIConnectionError);
});

test('default retries survive a failing provider but stop at a lasting refusal', async () => {
  const flaky = await world.scripted([{ status: 529 }], {}, 1);
  const recovered = await clientOf(world.rich.secret, {}).messages.create({
    model: flaky.id,
    max_tokens: 50,
    messages,
  });
  expect(recovered.type).toBe('message');
  expect(world.simulator.calls({ model: flaky.upstream })).toHaveLength(2);
  const lasting = REFUSALS.find(({ expected }) => expected.code === 'window_exhausted');
  const call = (await lasting?.arrange(world))?.('messages');
  let tries = 0;
  const fetchCounting: typeof fetch = (input, init) => {
    tries += 1;
    return fetch(input, init);
  };
  const eager = new Anthropic({ apiKey: call?.secret ?? '', baseURL: world.url, fetch: fetchCounting });
  const body = call?.body as Anthropic.MessageCreateParamsNonStreaming;
  await expect(eager.messages.create(body)).rejects.toBeInstanceOf(RateLimitError);
  expect(tries).toBe(1);
});

test('a stream that the provider cuts throws, event by event and collected', async () => {
  const start = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hel' } };
  const sseEvents = [{ type: 'message_start', message: start }, block]
    .map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`)
    .join('');
  for (const end of ['cut', 'reset'] as const) {
    const semaphore = `cut-messages-${end}`;
    const head = { status: 200, headers: { 'content-type': 'text/event-stream' } };
    const scripted = await world.scripted([head, { chunk: sseEvents }, { waitFor: semaphore }, { end }]);
    const params = { model: scripted.id, max_tokens: 50, messages };
    const stream = await client.messages.create({ ...params, stream: true });
    let events = 0;
    const read = async (): Promise<void> => {
      for await (const _event of stream) {
        if (events === 0) world.simulator.release(semaphore);
        events += 1;
      }
    };
    await expect(read()).rejects.toBeInstanceOf(Error);
    expect(events).toBe(2);
    world.simulator.release(semaphore);
    await expect(client.messages.stream(params).finalMessage()).rejects.toBeInstanceOf(Error);
  }
});
