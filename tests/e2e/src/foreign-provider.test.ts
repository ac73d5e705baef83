// Uses a third-party mock provider, so that the tests do not depend only on our own idea of
// providers.
import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { PricesSpec } from '@gateway/contracts/operator';
import { applyObjects } from '../test/apply-objects.js';
import { PRICES } from '../test/prices.js';
import { compareWithRecord, embed, SDK_CALLS, sdkClients } from '../test/sdk-calls.js';
import type { SdkAnswer, SdkCall, SdkClients } from '../test/sdk-calls.js';
import { sharedSystem } from '../test/system.js';

const HELLO = 'Hello from a third-party provider.';
const COUNTS = { input: 123, output: 45 };
/** The same counts with the field names of each format. */
const USAGE = {
  prompt_tokens: COUNTS.input,
  completion_tokens: COUNTS.output,
  input_tokens: COUNTS.input,
  output_tokens: COUNTS.output,
};
const PROVIDERS = { openai: 'openai', anthropic: 'anthropic' } as const;
type Profile = keyof typeof PROVIDERS;

const provider = new LLMock({ port: 0, host: '127.0.0.1' });
let clients: SdkClients;
beforeAll(async () => {
  provider.onMessage(/hello/i, { content: HELLO, usage: USAGE });
  provider.onEmbedding(/hello/i, { embedding: [0.25, -0.5, 0.125] });
  await provider.start();
  const { operator, edgeUrls } = sharedSystem();
  const { secret } = await operator.account('100.00');
  clients = sdkClients(edgeUrls[0] ?? '', secret);
  await applyObjects(operator, [
    ...Object.values(PROVIDERS).map((format) => ({
      kind: 'provider',
      id: `foreign-${format}`,
      spec: { name: `foreign ${format}`, format },
    })),
    ...objectsOf('openai', 'chat'),
    ...objectsOf('openai', 'embedding'),
    ...objectsOf('anthropic', 'chat'),
  ]);
});
afterAll(() => provider.stop());

const modelOf = (profile: Profile, kind: string): string => `foreign/${profile}-${kind}`;

function objectsOf(profile: Profile, kind: 'chat' | 'embedding'): object[] {
  const id = modelOf(profile, kind);
  const prices: PricesSpec = PRICES;
  return [
    { kind: 'model', id, spec: { displayName: id, kind, prices } },
    {
      kind: 'source',
      id: `foreign-${profile}-${kind}`,
      spec: {
        modelId: id,
        providerId: `foreign-${PROVIDERS[profile]}`,
        profile,
        baseUrl: provider.url,
        upstreamModel: profile === 'openai' ? 'gpt-4o' : 'claude-sonnet-4-5',
        credential: 'third-party-key',
      },
    },
  ];
}

const callAndCompare = (call: SdkCall, model: string): Promise<SdkAnswer> =>
  compareWithRecord(sharedSystem().operator, call(clients, model));

// Covers i3
test.each(Object.entries(SDK_CALLS))(
  '%s: the client receives the response and pays the reported usage',
  async (name, call) => {
    const model = modelOf(name.startsWith('messages') ? 'anthropic' : 'openai', 'chat');
    expect(await callAndCompare(call, model)).toMatchObject({ text: HELLO, usage: COUNTS });
  },
);

test('embeddings: the client receives them and pays the reported usage', async () => {
  expect(await callAndCompare(embed, modelOf('openai', 'embedding'))).toMatchObject({ text: '3' });
});

test('a request that the provider does not know returns a 404', async () => {
  const { openai } = clients;
  const messages = [{ role: 'user' as const, content: 'Something else.' }];
  const asked = openai.chat.completions.create({ model: modelOf('openai', 'chat'), messages });
  await expect(asked).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
});
