import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ProviderSimulator } from '../start-provider-simulator.js';
import { startProviderSimulator } from '../start-provider-simulator.js';
import { post, postForEvents, postForJson } from '../../test/clients.js';
import type { Json, StreamEvent } from '../../test/clients.js';

let simulator: ProviderSimulator;
let base: string;

beforeAll(async () => {
  simulator = await startProviderSimulator();
  base = simulator.urls[0];
});
afterAll(() => simulator.close());

const messages = [
  { role: 'system', content: 'Be kind.' },
  { role: 'user', content: 'Why is the "sky" blue?' },
];
const chatUsage = {
  prompt_tokens: 8,
  completion_tokens: 32,
  total_tokens: 40,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
};
const dataOf = (events: StreamEvent[]): Json[] => events.flatMap(({ data }) => (data === '[DONE]' ? [] : [data]));
const choicesOf = (data: Json): Json[] => data['choices'] as Json[];

test('a plain chat response repeats the prompt, is deterministic and counts tokens', async () => {
  const first = await postForJson(`${base}/v1/chat/completions`, { model: 'any/model', messages });
  const second = await postForJson(`${base}/chat/completions`, { model: 'any/model', messages });
  expect(first).toMatchObject({ object: 'chat.completion', model: 'any/model', usage: chatUsage });
  const [choice] = choicesOf(first);
  const { content } = choice?.['message'] as { content: string };
  expect(content).toMatch(/^You said "Why is the "sky" blue\?": /);
  expect(content.split(' ')).toHaveLength(24);
  expect(choice).toMatchObject({ index: 0, finish_reason: 'stop', message: { role: 'assistant', refusal: null } });
  expect(choicesOf(second)).toEqual(choicesOf(first));
  expect(second['id']).not.toBe(first['id']);
});

test('a chat response has n choices and stays within the output limit', async () => {
  const body = { model: 'm', messages, n: 3, max_tokens: 8, max_completion_tokens: 100 };
  const answer = await postForJson(`${base}/v1/chat/completions`, body);
  expect(choicesOf(answer).map((choice) => choice['index'])).toEqual([0, 1, 2]);
  expect((choicesOf(answer)[2]?.['message'] as Json)['content']).toBe('You said "Why is the "sky"');
  expect(answer['usage']).toMatchObject({ completion_tokens: 24 });
  const least = await postForJson(`${base}/v1/chat/completions`, { model: 'm', messages, max_tokens: 1 });
  expect(least['usage']).toMatchObject({ completion_tokens: 1 });
});

test('a chat stream has role, content, finish reason and requested usage in order', async () => {
  const body = { model: 'm', messages, n: 2, stream_options: { include_usage: true } };
  const events = await postForEvents(`${base}/v1/chat/completions`, body);
  const plain = await postForJson(`${base}/v1/chat/completions`, { model: 'm', messages });
  expect(events.at(-1)?.data).toBe('[DONE]');
  const data = dataOf(events);
  expect(new Set(data.map((each) => each['id'])).size).toBe(1);
  expect(choicesOf(data[0] as Json)[0]).toMatchObject({ index: 0, delta: { role: 'assistant', content: '' } });
  const deltas = data.flatMap(choicesOf).filter((choice) => choice['index'] === 1);
  const text = deltas.map((choice) => (choice['delta'] as Json)['content'] ?? '').join('');
  expect(text).toBe((choicesOf(plain)[0]?.['message'] as Json)['content']);
  expect(deltas.map((choice) => choice['finish_reason'])).toEqual([...Array(25).fill(null), 'stop']);
  expect(data.at(-1)).toMatchObject({ choices: [], usage: { ...chatUsage, completion_tokens: 64, total_tokens: 72 } });
  expect(data.slice(0, -1).every((each) => each['usage'] === null)).toBe(true);
});

test('a stream without include_usage has no usage', async () => {
  const events = await postForEvents(`${base}/v1/chat/completions`, { model: 'm', messages });
  expect(dataOf(events).every((each) => !('usage' in each) && choicesOf(each).length === 1)).toBe(true);
});

test('a required tool is called in each format', async () => {
  const tools = [{ type: 'function', name: 'look', function: { name: 'look' } }];
  const call = { name: 'look', arguments: '{}' };
  const chat = { model: 'm', messages, tools, tool_choice: 'required' };
  const [choice] = choicesOf(await postForJson(`${base}/v1/chat/completions`, chat));
  expect(choice).toMatchObject({
    finish_reason: 'tool_calls',
    message: { content: null, tool_calls: [{ function: call }] },
  });
  const deltas = dataOf(await postForEvents(`${base}/v1/chat/completions`, chat)).flatMap(choicesOf);
  expect(deltas[0]).toMatchObject({ delta: { tool_calls: [{ index: 0, function: { name: 'look', arguments: '' } }] } });
  expect(deltas[1]).toMatchObject({ delta: { tool_calls: [{ index: 0, function: { arguments: '{}' } }] } });
  const anthropic = { model: 'm', messages, max_tokens: 50, tools, tool_choice: { type: 'any' } };
  expect(await postForJson(`${base}/v1/messages`, anthropic)).toMatchObject({
    stop_reason: 'tool_use',
    content: [{ type: 'tool_use', name: 'look', input: {} }],
  });
  expect(dataOf(await postForEvents(`${base}/v1/messages`, anthropic))[3]).toMatchObject({
    delta: { type: 'input_json_delta', partial_json: '{}' },
  });
  const responses = { model: 'm', input: 'x', tools, tool_choice: { type: 'function', name: 'other' } };
  expect(await postForJson(`${base}/v1/responses`, responses)).toMatchObject({
    output: [{ type: 'function_call', name: 'other', arguments: '{}' }],
  });
  const events = await postForEvents(`${base}/v1/responses`, responses);
  expect(events.map(({ event }) => event)).toContain('response.function_call_arguments.done');
});

test('legacy completions respond to every prompt, plain and streamed', async () => {
  const body = { model: 'm', prompt: ['One two three', 'Four'], n: 2 };
  const plain = await postForJson(`${base}/v1/completions`, body);
  expect(plain).toMatchObject({ object: 'text_completion', usage: { prompt_tokens: 5, completion_tokens: 128 } });
  expect(choicesOf(plain).map((choice) => choice['index'])).toEqual([0, 1, 2, 3]);
  const stream = { ...body, n: 1, prompt: [1, 2, 3], stream_options: { include_usage: true } };
  const events = await postForEvents(`${base}/completions`, stream);
  expect(events.at(-1)?.data).toBe('[DONE]');
  expect(dataOf(events).at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 32 } });
  expect(choicesOf(dataOf(events).at(-2) as Json)[0]).toMatchObject({ text: '', finish_reason: 'stop' });
});

test('a plain messages response counts the system text and has its own usage form', async () => {
  const body = {
    model: 'm',
    max_tokens: 100,
    system: [{ type: 'text', text: 'Be kind.' }],
    messages: messages.slice(1),
  };
  const response = await post(`${base}/v1/messages?beta=true`, body);
  expect(response.headers.get('request-id')).toMatch(/^req_/);
  expect(await response.json()).toMatchObject({
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: expect.stringMatching(/^You said/) }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 8, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 32 },
  });
  const count = await postForJson(`${base}/v1/messages/count_tokens`, { ...body, max_tokens: undefined });
  expect(count).toEqual({ input_tokens: 8 });
});

test('a messages stream has every event of the format and cumulative usage', async () => {
  const events = await postForEvents(`${base}/messages`, { model: 'm', max_tokens: 4, messages });
  expect(events.map(({ event }) => event)).toEqual([
    'message_start',
    'content_block_start',
    'ping',
    'content_block_delta',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
  expect(events.map(({ event, data }) => (data as Json)['type'] === event)).not.toContain(false);
  expect(events[0]?.data).toMatchObject({ message: { content: [], usage: { input_tokens: 8, output_tokens: 1 } } });
  expect(events.at(-2)?.data).toMatchObject({ delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } });
});

test('responses have the same text plain and as a numbered sequence of events', async () => {
  const body = { model: 'm', input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hello there' }] }] };
  const plain = await postForJson(`${base}/v1/responses`, body);
  const usage = {
    input_tokens: 3,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 32,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 35,
  };
  expect(plain).toMatchObject({ object: 'response', status: 'completed', usage });
  const events = await postForEvents(`${base}/v1/responses`, body);
  const data = dataOf(events);
  expect(data.map((each) => each['sequence_number'])).toEqual(data.map((_each, index) => index));
  expect(events.map(({ event }) => event).filter((event) => event !== 'response.output_text.delta')).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ]);
  const text = data.map((each) => (each['type'] === 'response.output_text.delta' ? each['delta'] : '')).join('');
  expect(plain['output']).toMatchObject([{ type: 'message', content: [{ type: 'output_text', text }] }]);
  expect(data.at(-1)).toMatchObject({ response: { status: 'completed', usage, output: [{ content: [{ text }] }] } });
});

test('embeddings have the requested size and depend on the input', async () => {
  const body = { model: 'm', input: ['alpha', 'beta', 'alpha'], dimensions: 8 };
  const answer = await postForJson(`${base}/v1/embeddings`, body);
  const vectors = (answer['data'] as { embedding: number[] }[]).map((each) => each.embedding);
  expect(answer).toMatchObject({ object: 'list', model: 'm', usage: { prompt_tokens: 4, total_tokens: 4 } });
  expect(vectors.map((vector) => vector.length)).toEqual([8, 8, 8]);
  expect(vectors[2]).toEqual(vectors[0]);
  expect(vectors[1]).not.toEqual(vectors[0]);
  expect(Math.hypot(...(vectors[0] ?? []))).toBeCloseTo(1, 5);
  const coded = await postForJson(`${base}/v1/embeddings`, { ...body, encoding_format: 'base64' });
  const bytes = Buffer.from((coded['data'] as { embedding: string }[])[1]?.embedding ?? '', 'base64');
  expect([...new Float32Array(new Uint8Array(bytes).buffer)]).toEqual(vectors[1]);
});

test('the model name sets the size of a response', async () => {
  const chunks = await postForEvents(`${base}/v1/chat/completions`, {
    model: 'bench-chunks100',
    messages,
    max_tokens: 5,
  });
  const contents = dataOf(chunks).filter((each) => (choicesOf(each)[0]?.['delta'] as Json)['content']);
  expect(contents).toHaveLength(100);
  const bytes = await postForJson(`${base}/v1/chat/completions`, { model: 'bench-bytes3000', messages });
  expect((choicesOf(bytes)[0]?.['message'] as { content: string }).content).toHaveLength(3000);
  expect(bytes['usage']).toMatchObject({ completion_tokens: 750 });
  expect((await post(`${base}/v1/chat/completions`, { model: 'x-bytes999999999', messages })).status).toBe(400);
});

test.each([
  ['/v1/chat/completions', '{"model"', 'The body is not a JSON object.'],
  ['/v1/chat/completions', { messages }, 'You must provide a model parameter.'],
  ['/v1/chat/completions', { model: 'm' }, "Missing required parameter: 'messages'."],
  ['/v1/chat/completions', { model: 'm', messages, n: 0 }, "Invalid 'n': an integer from 1 to 128."],
  ['/v1/chat/completions', { model: 'm', messages, max_tokens: -1 }, "Invalid 'max_tokens': an integer from 1."],
  ['/v1/completions', { model: 'm' }, "Missing required parameter: 'prompt'."],
  ['/v1/responses', { model: 'm' }, "Missing required parameter: 'input'."],
  ['/v1/embeddings', { model: 'm', input: [] }, "'input' must be text or tokens, or at most 2048 of them."],
  ['/v1/messages', { model: 'm', messages }, 'max_tokens: Field required'],
  ['/v1/messages/count_tokens', { model: 'm' }, 'messages: Field required'],
])('%s refuses %j as a provider does', async (path, body, message) => {
  const response = await post(`${base}${path}`, body);
  expect(response.status).toBe(400);
  const envelope = path.startsWith('/v1/messages') ? { type: 'error', request_id: expect.any(String) } : {};
  expect(await response.json()).toMatchObject({ ...envelope, error: { type: 'invalid_request_error', message } });
});

test('unknown paths and other methods are refused', async () => {
  expect((await post(`${base}/v1/other`, {})).status).toBe(404);
  expect((await fetch(`${base}/v1/messages`)).status).toBe(405);
});

test("a required key is read from both headers and refused in the endpoint's format", async () => {
  const guarded = await startProviderSimulator({ requireKey: 'sk-right' });
  const send = (path: string, headers: Record<string, string>): Promise<Response> =>
    post(`${guarded.urls[1]}${path}`, { model: 'm', messages, max_tokens: 5 }, headers);
  try {
    expect((await send('/v1/chat/completions', { authorization: 'Bearer sk-right' })).status).toBe(200);
    expect((await send('/v1/messages', { 'x-api-key': 'sk-right' })).status).toBe(200);
    guarded.script({ model: 'm', steps: [{ status: 503 }] });
    const openai = await send('/v1/chat/completions', { authorization: 'Bearer sk-wrong' });
    expect(openai.status).toBe(401);
    expect(await openai.json()).toMatchObject({ error: { code: 'invalid_api_key', param: null } });
    const anthropic = await send('/v1/messages', {});
    expect(anthropic.status).toBe(401);
    expect(await anthropic.json()).toMatchObject({ type: 'error', error: { type: 'authentication_error' } });
    // The script still waits for a call with the key.
    expect((await send('/v1/messages', { 'x-api-key': 'sk-right' })).status).toBe(503);
  } finally {
    await guarded.close();
  }
});
