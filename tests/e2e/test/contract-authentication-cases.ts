import { expect } from '@jest/globals';
import { DEFAULT_KEY_PREFIX, makeSecret } from '@gateway/contracts/ids';
import type { ContractCase } from './contract-case.js';
import { CHAT, MESSAGES, jsonOf, modelCall, send, styleOf } from './contract-call.js';
import type { ContractSystem } from './contract-world.js';

const WRONG = makeSecret(DEFAULT_KEY_PREFIX);

/** Headers with the right key `K`, and the expected result: 200 or a code. */
const PRESENTED: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
  [{ authorization: 'Bearer K' }, '200'],
  [{ authorization: 'bearer K' }, '200'],
  [{ 'x-api-key': 'K' }, '200'],
  [{ authorization: 'Bearer K', 'x-api-key': WRONG }, '200'],
  [{ authorization: `Bearer ${WRONG}`, 'x-api-key': 'K' }, 'invalid_api_key'],
  [{ authorization: 'Basic abc', 'x-api-key': 'K' }, '200'],
  [{ authorization: 'Basic abc' }, 'missing_api_key'],
  [{ authorization: 'K' }, 'missing_api_key'],
  [{ authorization: 'Bearer ', 'x-api-key': 'K' }, '200'],
  [{}, 'missing_api_key'],
  [{ authorization: 'Bearer sk-of-somebody-else' }, 'invalid_api_key'],
  [{ 'x-api-key': 'mgw_live_ABCDEF' }, 'invalid_api_key'],
];

export const AUTHENTICATION_CASES: readonly ContractCase[] = [
  ...PRESENTED.map(([headers, expected]): ContractCase => ({
    title: `the key in ${JSON.stringify(headers)}: ${expected}`,
    covers: [
      'authentication: Authorization',
      'authentication: x-api-key',
      'authentication: rule 2 when both are present',
      'authentication: rule 1 every request to /v1',
    ],
    async run(world) {
      const own = Object.entries(headers).map(([name, value]) => [name, value.replace('K', world.rich.secret)]);
      for (const path of [CHAT, MESSAGES, '/v1/models', '/v1/gateway/usage']) {
        const call =
          styleOf(path) === 'messages' || path === CHAT
            ? modelCall(path, null, world.model.id)
            : { path, secret: null };
        const answer = await send(world.url, { ...call, headers: Object.fromEntries(own) as Record<string, string> });
        const seen = answer.status === 200 ? '200' : (jsonOf(answer)['error'] as { code: string }).code;
        expect([path, seen]).toEqual([path, expected]);
        expect(answer.text).not.toContain(WRONG);
      }
    },
  })),
  {
    title: 'a secret has the documented form, and later views of the key omit it',
    covers: ['authentication: rule 3 key format literal prefix', 'api key: secret', 'api key: name'],
    async run({ operator }: ContractSystem) {
      const { account, key, secret } = await operator.account('1.00');
      expect(secret).toMatch(/live_[0-9a-f]{48}$/);
      const views = [
        await operator.request('GET', `/keys/${key}`),
        await operator.request('GET', `/accounts/${account}/keys`),
      ];
      expect(views.map(({ status }) => status)).toEqual([200, 200]);
      const text = JSON.stringify(views.map(({ body }) => body));
      expect(text).toContain(key);
      expect(text).not.toContain(secret);
      const nameless = await operator.request('POST', `/accounts/${account}/keys`, {});
      expect([nameless.status, nameless.body]).toMatchObject([400, { error: { code: 'invalid_request' } }]);
    },
  },
  {
    title: 'cap and allowed models have the plan’s defaults and cannot be edited',
    covers: [
      'api key: monthly spend cap (USD)',
      'api key: allowed models',
      'api key: rule 2 the spend cap and',
      'limits: Monthly spend cap',
    ],
    async run(world) {
      const { account } = await world.operator.account('5.00');
      expect((await world.createKey(account, {})).monthlySpendCapUsd).toBeNull();
      await world.subscribe(account, { defaultKeySpendCapUsd: '7.50', maxActiveKeys: 4 });
      const defaulted = await world.createKey(account, { allowedModels: [] });
      expect([defaulted.monthlySpendCapUsd, defaulted.allowedModels]).toEqual(['7.50', null]);
      const own = await world.createKey(account, { monthlySpendCapUsd: '0.01' });
      expect(own.monthlySpendCapUsd).toBe('0.01');
      for (const method of ['PUT', 'PATCH']) {
        const { status } = await world.operator.request(method, `/keys/${own.id}`, {
          monthlySpendCapUsd: '9.00',
          allowedModels: [],
        });
        expect([method, status]).toEqual([method, 404]);
      }
      expect(await world.operator.must('GET', `/keys/${own.id}`)).toMatchObject({ monthlySpendCapUsd: '0.01' });
      // A spend equal to the cap is allowed. The next call exceeds it.
      const call = modelCall(CHAT, own.secret ?? '', world.model.id);
      expect((await send(world.url, call)).status).toBe(200);
      const refused = await send(world.url, call);
      expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('monthly_spend_cap_exceeded')]);
    },
  },
  {
    title: 'the cap counts the worst case: max_tokens, or 8,192 output tokens without it',
    covers: [
      'api key: rule 5 spend for the cap',
      'limits: rule 7 default worst case output',
      'request objects: Chat completion max_tokens',
    ],
    async run(world) {
      // One dollar per output token and free input, so the cap equals the number of tokens.
      const prices = { inputPerMillion: '0', outputPerMillion: '1000000' };
      const { id } = await world.makeModel({ model: { prices } });
      const account = await world.operator.account('1000000.00');
      const at = async (capUsd: string, fields: object): Promise<number> => {
        const { secret } = await world.operator.key(account.account, { capUsd });
        return (await send(world.url, modelCall(CHAT, secret, id, fields))).status;
      };
      await world.operator.limits(account.account, 1_000, 100);
      expect(await at('8191', {})).toBe(403);
      expect(await at('8192', {})).toBe(200);
      expect(await at('99', { max_tokens: 100 })).toBe(403);
      expect(await at('99', { max_tokens: 99 })).toBe(200);
      expect(await at('199', { max_tokens: 100, n: 2 })).toBe(403);
      expect(await at('200', { max_tokens: 100, n: 2 })).toBe(200);
    },
  },
];
