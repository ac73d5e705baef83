// Tests methods of the unchanged official client, except plain chat, which src/openai-sdk.test.ts
// tests.
import { afterAll, expect, test } from '@jest/globals';
import OpenAI from 'openai';
import { startContractWorld } from '../../test/contract-world.js';

const messages = [{ role: 'user' as const, content: 'Say hello.' }];
const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: { type: 'object' } } }];

const world = await startContractWorld();
const model = world.model.id;
const client = new OpenAI({ apiKey: world.rich.secret, baseURL: `${world.url}/v1`, maxRetries: 0 });
afterAll(() => world.stop());

test('chat returns tool calls, plain and streamed', async () => {
  const params = { model, messages, tools, tool_choice: { type: 'function' as const, function: { name: 'weather' } } };
  const completion = await client.chat.completions.create(params);
  expect(completion.choices[0]?.message.tool_calls?.[0]).toMatchObject({
    type: 'function',
    function: { name: 'weather' },
  });
  expect(completion.choices[0]?.finish_reason).toBe('tool_calls');
  const final = await client.chat.completions.stream(params).finalChatCompletion();
  expect(final.choices[0]?.message.tool_calls?.[0]).toMatchObject({ function: { name: 'weather', arguments: '{}' } });
});

test('chat sends a response format and parses the structured output', async () => {
  const scripted = await world.scripted([
    { status: 200, headers: { 'content-type': 'application/json' } },
    {
      chunk: JSON.stringify({
        id: 'c',
        object: 'chat.completion',
        choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: '{"city":"Bern"}' } }],
        usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
      }),
    },
  ]);
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const response_format = { type: 'json_schema' as const, json_schema: { name: 'place', schema, strict: true } };
  const completion = await client.chat.completions.parse({ model: scripted.id, messages, response_format });
  expect(completion.choices[0]?.message.content).toBe('{"city":"Bern"}');
  expect(completion.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 4 });
  const [call] = world.simulator.calls({ model: scripted.upstream });
  expect(JSON.parse(String(call?.body))).toMatchObject({ response_format });
});

test('legacy completions work plain and streamed', async () => {
  const completion = await client.completions.create({ model, prompt: 'Say hello.', max_tokens: 20 });
  expect(completion.choices[0]?.text.length).toBeGreaterThan(0);
  expect(completion.usage?.total_tokens).toBeGreaterThan(0);
  let text = '';
  const usages: unknown[] = [];
  const stream_options = { include_usage: true };
  for await (const chunk of await client.completions.create({ model, prompt: 'hi', stream: true, stream_options })) {
    text += chunk.choices[0]?.text ?? '';
    if (chunk.usage) usages.push(chunk.usage);
  }
  expect([text.length > 0, usages.length]).toEqual([true, 1]);
});

test('embeddings of several inputs work in both encodings', async () => {
  for (const encoding_format of [undefined, 'float' as const]) {
    const format = encoding_format === undefined ? {} : { encoding_format };
    const answer = await client.embeddings.create({ model: world.embeddingModel.id, input: ['one', 'two'], ...format });
    expect(answer.data.map(({ embedding }) => embedding.length > 0)).toEqual([true, true]);
    expect(answer.usage.prompt_tokens).toBeGreaterThan(0);
  }
});

test('responses work plain and streamed, with usage', async () => {
  const response = await client.responses.create({ model, input: 'Say hello.' });
  expect([response.status, response.output_text.length > 0]).toEqual(['completed', true]);
  expect(response.usage?.output_tokens).toBeGreaterThan(0);
  const types: string[] = [];
  let text = '';
  for await (const event of await client.responses.create({ model, input: 'Say hello.', stream: true })) {
    types.push(event.type);
    if (event.type === 'response.output_text.delta') text += event.delta;
    if (event.type === 'response.completed') expect(event.response.usage?.output_tokens).toBeGreaterThan(0);
  }
  expect([types[0], types.at(-1), text.length > 0]).toEqual(['response.created', 'response.completed', true]);
  const final = await client.responses.stream({ model, input: 'Say hello.' }).finalResponse();
  expect(final.status).toBe('completed');
});
