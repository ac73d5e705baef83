import { afterAll, expect, test } from '@jest/globals';
import { DEFAULT_KEY_PREFIX, makeSecret } from '@gateway/contracts/ids';
import { startProviderSimulator } from '@gateway/provider-simulator';
import OpenAI, { AuthenticationError, NotFoundError, RateLimitError } from 'openai';
import { sharedSystem } from '../test/system.js';

const PRICES = { inputPerMillion: '1.00', outputPerMillion: '2.00' };
const messages = [{ role: 'user' as const, content: 'Say hello.' }];

const system = sharedSystem();
const simulator = await startProviderSimulator();
const { id: model } = await system.operator.model(PRICES, [simulator.urls[0]]);
const { secret } = await system.operator.account('5.00');
afterAll(() => simulator.close());

const client = (apiKey = secret) => new OpenAI({ apiKey, baseURL: system.chatBaseUrl, maxRetries: 0 });

test('the SDK receives a plain chat completion with usage', async () => {
  const completion = await client().chat.completions.create({ model, messages });
  expect(completion.choices[0]?.message.content).toEqual(expect.any(String));
  expect(completion.usage?.total_tokens).toBeGreaterThan(0);
});

test('the SDK receives a streamed completion with and without usage', async () => {
  for (const include_usage of [true, false]) {
    const stream = await client().chat.completions.create({
      model,
      messages,
      stream: true,
      stream_options: { include_usage },
    });
    let text = '';
    const usages: number[] = [];
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      if (chunk.usage) usages.push(chunk.usage.total_tokens);
    }
    expect(text.length).toBeGreaterThan(0);
    expect(usages).toHaveLength(include_usage ? 1 : 0);
  }
});

test('the SDK lists the model', async () => {
  const models = [];
  for await (const entry of client().models.list()) models.push(entry.id);
  expect(models).toContain(model);
});

test('the SDK throws typed errors for a wrong key, an unknown model and the rate limit', async () => {
  const wrong = makeSecret(DEFAULT_KEY_PREFIX);
  await expect(client(wrong).chat.completions.create({ model, messages })).rejects.toBeInstanceOf(AuthenticationError);
  const unknown = client().chat.completions.create({ model: 'nobody/nothing', messages });
  await expect(unknown).rejects.toBeInstanceOf(NotFoundError);
  await expect(unknown).rejects.toMatchObject({ code: 'model_not_found', status: 404 });

  const limited = await system.operator.account('5.00');
  await system.operator.limits(limited.account, 2, 3);
  const calls = () => client(limited.secret).chat.completions.create({ model, messages });
  // Five requests are sent in at most two clock minutes, so at least one exceeds the limit of two.
  const results = [];
  for (let n = 0; n < 5; n += 1) results.push(await calls().catch((error: unknown) => error));
  const refusal = results.find((result) => result instanceof RateLimitError);
  expect(refusal).toMatchObject({ code: 'rate_limited', status: 429 });
});
