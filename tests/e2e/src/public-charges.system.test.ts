// Tests each charge of the table in public-charges.ts through sources that `providers add` created.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseUsd } from '@gateway/metering';
import { chat } from '../test/call.js';
import { addProvider } from '../test/coding-agents.js';
import { CHARGE_CASES, PUBLIC_PRICES, type ChargeCase } from '../test/public-charges.js';
import { startScriptedProvider, type ScriptedProvider } from '../test/scripted-provider.js';
import { PATIENT, startOwnSystem, type OwnSystem } from '../test/own-system.js';

/** Precedes the number of the case in a request's text. */
const MARK = 'public charge no. ';
const SETTLED_MS_MAX = 60_000;
const AT_ONCE = 8;

/** The publisher in the model ID, if it differs from the profile. */
const PUBLISHERS: Readonly<Record<string, string>> = { gemini: 'google/', groq: '' };

let system: OwnSystem;
let provider: ScriptedProvider;
beforeAll(async () => {
  // A separate system, because the models of the shared one have demo prices.
  system = await startOwnSystem('charges', PATIENT, { 'edge-proxy': 1, admission: 1 });
  provider = await startScriptedProvider(({ text }) => {
    const [, number] = new RegExp(`${MARK}(\\d+)`).exec(text) ?? [];
    return number === undefined ? null : (CHARGE_CASES[Number(number)]?.answer ?? null);
  });
  const models = new Map<string, string[]>();
  for (const { of } of PUBLIC_PRICES) {
    const [profile = '', model = ''] = of.split(' ');
    models.set(profile, [...(models.get(profile) ?? []), model]);
  }
  for (const [profile, names] of models) {
    const { operatorUrl } = system.local.running();
    const access = { operatorUrl, operatorToken: system.local.secrets.operatorToken };
    await addProvider(access, { profile, id: `public-${profile}`, models: names, url: provider.url });
  }
}, 300_000);
afterAll(async () => {
  await provider.close();
  await system.stop();
});

test('at least 100 charges equal those of a second program with public prices', async () => {
  const { operator } = system;
  const [edgeUrl] = system.local.running().edgeUrls;
  const { account, secret } = await operator.account('1000.00');
  await operator.limits(account, 100_000, 10);
  /** Sends one request and returns the difference from the table, or null if there is none. */
  const differenceOf = async ({ title, price, path, request, nanoUsd }: ChargeCase, number: number) => {
    const [profile = '', name = ''] = price.of.split(' ');
    const model = `${PUBLISHERS[profile] ?? `${profile}/`}${name}`;
    const content = `${MARK}${number}`;
    const takesInput = path === '/v1/responses' || path === '/v1/embeddings';
    const prompt = takesInput ? { input: content } : { messages: [{ role: 'user', content }] };
    const body = { model, ...prompt, ...(path === '/v1/messages' ? { max_tokens: 100 } : {}), ...request };
    const { status, text, requestId } = await chat(`${edgeUrl}${path}`, secret, body);
    if (status !== 200) return `${title}: ${status} ${text}`;
    const { chargedUsd, evidence } = await operator.usageRecord(requestId, SETTLED_MS_MAX);
    if (parseUsd(chargedUsd) === nanoUsd && evidence === 'reported') return null;
    return `${title}: ${evidence} ${parseUsd(chargedUsd)}, not ${nanoUsd} nano-USD`;
  };
  const differences: (string | null)[] = [];
  for (let at = 0; at < CHARGE_CASES.length; at += AT_ONCE) {
    const some = CHARGE_CASES.slice(at, at + AT_ONCE);
    differences.push(...(await Promise.all(some.map((one, index) => differenceOf(one, at + index)))));
  }
  expect(CHARGE_CASES.length).toBeGreaterThanOrEqual(100);
  expect(differences.filter((difference) => difference !== null)).toEqual([]);
}, 300_000);
