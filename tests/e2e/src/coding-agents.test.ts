// Sends recorded requests of real coding agents through sources that `providers add` created.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { chat } from '../test/call.js';
import { addProvider, capturedRequests, startAgentProvider } from '../test/coding-agents.js';
import type { ScriptedProvider } from '../test/scripted-provider.js';
import { sharedSystem } from '../test/system.js';

/**
 * The charge of each model in USD for the usage of the scripted provider, computed by hand from the
 * public prices per million tokens.
 */
const CHARGES: Readonly<Record<string, string>> = {
  // 3,000 × 0.75 + 2,000 × 0.075 + 300 × 4.50
  'openai/gpt-5.4-mini': '0.00375',
  // 3,000 × 2 + 2,000 × 0.10 + 300 × 10
  'openai/gpt-6.1-sol': '0.0092',
  // 40 × 4 + 5,000 × 0.20 + 1,000 × 5 + 2,000 × 8 + 120 × 20
  'anthropic/claude-opus-5-5': '0.02456',
  // The same, and one search at 10 per 1,000.
  'anthropic/claude-opus-5-5, one search': '0.03456',
};

let provider: ScriptedProvider;
beforeAll(async () => {
  provider = await startAgentProvider((text) =>
    text.includes('"web_search_20250305"') ? [{ search: 'gateways' }, { text: 'Found.' }] : [{ text: 'Done.' }],
  );
  const system = sharedSystem();
  const { url } = provider;
  await addProvider(system, { profile: 'openai', id: 'agents-openai', models: ['gpt-5.4-mini', 'gpt-6.1-sol'], url });
  await addProvider(system, { profile: 'anthropic', id: 'agents-anthropic', models: ['claude-opus-5-5'], url });
}, 60_000);
afterAll(() => provider.close());

test.each(capturedRequests())(
  '%s: the provider receives the request unchanged, and the charge is exact',
  async (name, sent) => {
    const { operator, edgeUrls } = sharedSystem();
    const { secret } = await operator.account('10.00');
    const answer = await chat(`${edgeUrls[0]}${sent.path}`, secret, sent.body, sent.headers);
    expect([answer.status, answer.text]).toEqual([200, expect.stringMatching(/Done|Found/)]);
    const got = provider.seen.at(-1);
    const model = String(sent.body['model']);
    // Compared as a boolean, because a diff of two bodies of 50 KB is not readable.
    const expected = JSON.stringify({ ...sent.body, model: model.replace(/^.*\//, '') });
    expect(got?.text === expected).toBe(true);
    const record = await operator.usageRecord(answer.requestId);
    const charge = CHARGES[name.endsWith('web search') ? `${model}, one search` : model];
    expect(record).toMatchObject({ outcome: 'settled', evidence: 'reported', modelId: model, chargedUsd: charge });
  },
);
