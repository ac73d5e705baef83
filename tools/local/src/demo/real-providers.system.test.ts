import { chmodSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { startProviderSimulator } from '@gateway/provider-simulator';
import { temporaryDirectory } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { startSystem } from '../start-system.js';
import { addRealProviders, realProviders } from './real-providers.js';
import { findDemoModel, seedDemo } from './seed-local.js';

const KEY = 'sk-real-0123456789';

/** A system with demo data, and another simulator in the role of the real provider. */
const world = duringTests(async () => {
  const directory = temporaryDirectory('real-providers');
  chmodSync(directory.path, 0o711);
  const provider = await startProviderSimulator({ requireKey: KEY });
  const stateDirectory = directory.path;
  const system = await startSystem({ stateDirectory, durable: false, log: () => undefined });
  const demo = await seedDemo(system, stateDirectory, true);
  return {
    provider,
    system,
    stateDirectory,
    demo,
    async stop() {
      await system.stop();
      await provider.close();
      directory.remove();
    },
  };
});

/** Adds the provider with these keys, as `npm start` does, and returns its output. */
async function add(env: NodeJS.ProcessEnv): Promise<{ said: string; calls: unknown }> {
  const { providers, problems } = realProviders(['openai'], [`openai=${world.provider.urls[0]}`], env);
  expect(problems).toEqual([]);
  const said: string[] = [];
  const calls = await addRealProviders(world.system.running(), providers, env, (line) => void said.push(line));
  return { said: said.join('\n'), calls };
}

async function call(model: string): Promise<number> {
  const response = await fetch(`${world.system.running().chatBaseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${world.demo.apiKey ?? ''}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Say hello.' }] }),
  });
  await response.arrayBuffer();
  return response.status;
}

test('a key that the provider refuses is reported and can be corrected once', async () => {
  const refused = await add({ OPENAI_API_KEY: 'sk-of-somebody-else' });
  expect(refused.said).toContain('The provider refuses the credential');
  expect(refused.said).not.toContain('sk-of-somebody-else');
  const { said, calls } = await add({ OPENAI_API_KEY: KEY });
  expect(said).toMatch(/source openai-real-\S+ works\./);
  expect(calls).toEqual([
    { profile: 'openai', model: expect.stringMatching(/^openai\//), endpoint: '/v1/chat/completions' },
  ]);
});

test('models of a real provider are served by it, not by the simulation', async () => {
  const seen = () => world.provider.calls().length;
  for (const model of ['openai/gpt-6-luna', 'openai/gpt-4o-mini', 'openai/gpt-4o-mini', 'openai/gpt-4o-mini']) {
    const before = seen();
    expect([model, await call(model), seen() - before]).toEqual([model, 200, 1]);
  }
  const before = seen();
  expect([await call('openai/gpt-4o'), seen() - before]).toEqual([200, 0]);
  expect(await findDemoModel(world.system)).not.toBe('openai/gpt-4o-mini');
});
