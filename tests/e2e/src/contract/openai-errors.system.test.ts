// Tests the unchanged official client: its error classes, retries and cut streams.
import { afterAll, expect, test } from '@jest/globals';
import type { ScriptStep } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import OpenAI, {
  APIConnectionError,
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from 'openai';
import { ONE_OF_EACH_STATUS, titleOf } from '../../test/contract-error-cases.js';
import { REFUSALS } from '../../test/contract-refusals.js';
import { startContractWorld } from '../../test/contract-world.js';

const messages = [{ role: 'user' as const, content: 'Say hello.' }];
const STREAM_HEAD = { status: 200, headers: { 'content-type': 'text/event-stream' } };

const world = await startContractWorld();
const model = world.model.id;
const client = clientOf(world.rich.secret);
afterAll(() => world.stop());

function clientOf(apiKey: string, options: { maxRetries?: number } = { maxRetries: 0 }): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${world.url}/v1`, ...options });
}

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
    const call = (await arrange(world))('chat');
    const error: unknown = await clientOf(call.secret ?? '')
      .chat.completions.create(call.body as OpenAI.ChatCompletionCreateParamsNonStreaming)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CLASSES[expected.status] ?? InternalServerError);
    const { status, code, type } = expected;
    expect(error).toMatchObject({ status, code, type, requestID: expect.stringMatching(/^[0-9a-f-]{36}$/) });
  },
);

test('an unreachable gateway throws APIConnectionError', async () => {
  const nobody = new OpenAI({ apiKey: 'x', baseURL: 'http://127.0.0.1:9/v1', maxRetries: 0 });
  await expect(nobody.chat.completions.create({ model, messages })).rejects.toBeInstanceOf(APIConnectionError);
});

// Covers errors: sentence 4 suggested backoff start near
test('default retries survive a concurrency limit and failing providers', async () => {
  const flaky = await world.scripted([{ status: 503 }], {}, 1);
  const recovered = await clientOf(world.rich.secret, {}).chat.completions.create({ model: flaky.id, messages });
  expect(recovered.choices).toHaveLength(1);
  expect(world.simulator.calls({ model: flaky.upstream })).toHaveLength(2);

  const { account, secret } = await world.operator.account('5.00');
  await world.operator.limits(account, 1_000, 1);
  const slow = await world.scripted([{ waitFor: account }], {}, 1);
  const running = clientOf(secret).chat.completions.create({ model: slow.id, messages });
  running.catch(() => undefined);
  await until('the slot is taken', () => world.simulator.calls({ model: slow.upstream }).length === 1);
  const statuses: number[] = [];
  const fetchNoting: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    statuses.push(response.status);
    if (response.status === 429) world.simulator.release(account);
    return response;
  };
  const patient = new OpenAI({ apiKey: secret, baseURL: `${world.url}/v1`, fetch: fetchNoting });
  expect((await patient.chat.completions.create({ model, messages })).choices).toHaveLength(1);
  // The slot becomes free shortly after the release.
  expect(statuses.filter((status, at) => at === 0 || status !== 429)).toEqual([429, 200]);
  await running;
});

test('the client does not retry a refusal that lasts for days', async () => {
  for (const { expected, arrange } of REFUSALS.filter((situation) => situation.expected.noRetry === true)) {
    const call = (await arrange(world))('chat');
    let tries = 0;
    const fetchCounting: typeof fetch = (input, init) => {
      tries += 1;
      return fetch(input, init);
    };
    const eager = new OpenAI({ apiKey: call.secret ?? '', baseURL: `${world.url}/v1`, fetch: fetchCounting });
    const body = call.body as OpenAI.ChatCompletionCreateParamsNonStreaming;
    await expect(eager.chat.completions.create(body)).rejects.toMatchObject({ code: expected.code });
    expect([expected.code, tries]).toEqual([expected.code, 1]);
  }
});

/** The first event of each format. The provider breaks off after it. */
const FIRST_EVENTS = {
  chat: 'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"half"}}]}\n\n',
  completions:
    'data: {"id":"c","object":"text_completion","choices":[{"index":0,"text":"half","finish_reason":null}]}\n\n',
  // The gateway buffers events that only begin a response.
  responses:
    `event: response.created\ndata: ${JSON.stringify({ type: 'response.created', sequence_number: 0, response: { id: 'resp_1', object: 'response', status: 'in_progress', output: [] } })}\n\n` +
    `event: response.output_item.added\ndata: ${JSON.stringify({ type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: { type: 'message', id: 'msg_1', role: 'assistant', status: 'in_progress', content: [] } })}\n\n`,
};

test.each(['chat', 'completions', 'responses'] as const)('a %s stream that the provider cuts throws', async (kind) => {
  for (const end of ['cut', 'reset'] as const) {
    const semaphore = `cut-${kind}-${end}`;
    const steps: ScriptStep[] = [STREAM_HEAD, { chunk: FIRST_EVENTS[kind] }, { waitFor: semaphore }, { end }];
    const scripted = await world.scripted(steps);
    const create = { model: scripted.id, stream: true as const };
    const stream: AsyncIterable<unknown> =
      kind === 'chat'
        ? await client.chat.completions.create({ ...create, messages })
        : kind === 'completions'
          ? await client.completions.create({ ...create, prompt: 'hi' })
          : await client.responses.create({ ...create, input: 'hi' });
    let sseEvents = 0;
    const read = async (): Promise<void> => {
      for await (const _event of stream) {
        if (sseEvents === 0) world.simulator.release(semaphore);
        sseEvents += 1;
      }
    };
    await expect(read()).rejects.toBeInstanceOf(Error);
    expect(sseEvents).toBeGreaterThan(0);
  }
});
