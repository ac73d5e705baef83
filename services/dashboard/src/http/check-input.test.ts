import { expect, test } from '@jest/globals';
import {
  applyDocument,
  isRefusal,
  memberCreate,
  modelSpec,
  planPut,
  planSpec,
  sourcePut,
  walletEntryCreate,
} from '@gateway/contracts/operator';
import type { z } from 'zod';
import { checkInput } from './check-input.js';

const prices = { inputPerMillion: '1', outputPerMillion: '2' };
const tier = { aboveInputTokens: 1, ...prices };
const model = { displayName: 'M', kind: 'chat' };
const source = {
  modelId: 'p/m',
  providerId: 'p',
  baseUrl: 'https://a.example',
  upstreamModel: 'm',
  endpoints: ['/v1/messages'],
};
const plan = { name: 'P', tier: 't', models: null };

const wrong: [string, z.ZodType, unknown, string | null, RegExp][] = [
  [
    'money as a number',
    modelSpec,
    { ...model, prices: { ...prices, tiers: [{ ...tier, inputPerMillion: 1.5 }] } },
    'prices.tiers[0].inputPerMillion',
    /decimal string such as "12.50"/,
  ],
  [
    'ten places',
    modelSpec,
    { ...model, prices: { ...prices, inputPerMillion: '0.0123456789' } },
    'prices.inputPerMillion',
    /at most nine places/,
  ],
  ['a missing field', modelSpec, { kind: 'chat' }, 'displayName', /is required/],
  ['an unknown field', modelSpec, { ...model, display: 'M' }, 'display', /is not known/],
  [
    'an unknown field deep inside',
    modelSpec,
    { ...model, prices: { ...prices, tiers: [tier, { ...tier, perCall: '1' }] } },
    'prices.tiers[1].perCall',
    /is not known/,
  ],
  [
    'a prototype',
    modelSpec,
    JSON.parse('{"displayName":"M","kind":"chat","__proto__":{"x":1}}'),
    '__proto__',
    /is not known/,
  ],
  ['a wrong choice', modelSpec, { ...model, kind: 'image' }, 'kind', /"chat"\|"embedding"/],
  [
    'a cap of zero',
    memberCreate,
    { email: 'a@b.example', monthlySpendCapUsd: '0' },
    'monthlySpendCapUsd',
    /above zero/,
  ],
  ['a second owner', memberCreate, { email: 'a@b.example', role: 'owner' }, 'role', /"admin"\|"member"/],
  [
    'an amount of zero',
    walletEntryCreate,
    { amountUsd: '0.00', kind: 'credit', reason: 'r', reference: 'r' },
    'amountUsd',
    /other than zero/,
  ],
  [
    'a count as a string',
    planSpec,
    { ...plan, windows: [{ type: 'weekly', unit: 'requests', limit: '3' }] },
    'windows[0].limit',
    /expected number/,
  ],
  [
    'a limit in USD as a number',
    planSpec,
    { ...plan, windows: [{ type: 'weekly', unit: 'usd', limit: 3 }] },
    'windows[0].limit',
    /not a JSON number/,
  ],
  [
    'a window that stands twice',
    planSpec,
    { ...plan, windows: [0, 1].map(() => ({ type: 'weekly', unit: 'usd', limit: '3' })) },
    'windows',
    /is listed twice/,
  ],
  [
    'a window that stands twice in what is put',
    planPut,
    { ...plan, version: 1, windows: [0, 1].map(() => ({ type: 'weekly', unit: 'usd', limit: '3' })) },
    'windows',
    /is listed twice/,
  ],
  [
    'an unknown unit',
    planSpec,
    { ...plan, windows: [{ type: 'weekly', unit: 'eur', limit: '3' }] },
    'windows[0].unit',
    /usd/,
  ],
  [
    'a credential of another kind',
    sourcePut,
    { ...source, credential: { fromVault: 'x' } },
    'credential.fromEnv',
    /is required/,
  ],
  [
    'a variable in lower case',
    sourcePut,
    { ...source, credential: { fromEnv: 'path' } },
    'credential.fromEnv',
    /pattern/,
  ],
  ['a header name with a space', sourcePut, { ...source, headers: { 'a b': 'c' } }, 'headers.a b', /pattern/],
  ['an unknown endpoint in paths', sourcePut, { ...source, paths: { '/v2/x': '/y' } }, 'paths', /./],
  [
    'an unknown kind',
    applyDocument,
    { objects: [{ kind: 'account', id: 'a', spec: {} }] },
    'objects[0].kind',
    /'provider'/,
  ],
  [
    'an object that stands twice',
    applyDocument,
    { objects: [0, 1].map(() => ({ kind: 'plan', id: 'a', spec: plan })) },
    'objects[1]',
    /plan a is listed twice/,
  ],
  [
    'an unknown field of an object',
    applyDocument,
    { objects: [{ kind: 'model', id: 'p/m', spec: { ...model, x: 1 } }] },
    'objects[0].spec.x',
    /is not known/,
  ],
  ['no object at all', modelSpec, 'text', null, /the body/],
];
test.each(wrong)('checkInput() refuses %s and names the field', (_name, schema, input, param, text) => {
  const checked = checkInput(schema, input);
  if (!isRefusal(checked)) throw new Error('it was taken');
  expect(checked.refused).toMatchObject({ code: 'invalid_request', param });
  expect(checked.refused.message).toMatch(text);
});

test('error messages do not contain the input', () => {
  const checked = checkInput(sourcePut, { ...source, credential: 'canary-1\u0000'.repeat(4_000), baseUrl: 'canary-2' });
  expect(JSON.stringify(checked)).not.toContain('canary');
});

test('checkInput() accepts valid input and adds defaults', () => {
  expect(checkInput(modelSpec, { ...model, prices: null })).toEqual({
    value: { ...model, active: true, available: true, bytesPerToken: 3, prices: null },
  });
});
