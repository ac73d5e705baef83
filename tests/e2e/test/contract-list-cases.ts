import { expect } from '@jest/globals';
import { modelList, usageObject } from '@gateway/contracts/public';
import { jsonOf, modelCall, send } from './contract-call.js';
import type { ContractCase } from './contract-case.js';

export const LIST_CASES: readonly ContractCase[] = [
  {
    title: 'GET /v1/models lists the models that the key may use',
    covers: [
      'endpoints: GET /v1/models',
      'model list: object',
      'model list: data',
      'model list: data[].id',
      'model list: data[].object',
      'model list: data[].created',
      'model list: data[].owned_by',
      'model list: sentence 1 the list is filtered',
      'api key: rule 6 with an allowed model',
    ],
    async run(world) {
      const { id } = await world.makeModel();
      const { account } = await world.operator.account('1.00');
      const { secret } = await world.operator.key(account, { allowedModels: [id] });
      const all = await world.operator.key(account);
      const modelsOf = async (key: string): Promise<string[]> => {
        const { data } = modelList.strict().parse(jsonOf(await send(world.url, { path: '/v1/models', secret: key })));
        return data.map((entry) => entry.id);
      };
      const answer = jsonOf(await send(world.url, { path: '/v1/models', secret }));
      const own = { id, object: 'model', created: expect.any(Number), owned_by: 'contract' };
      expect(answer).toEqual({ object: 'list', data: [expect.objectContaining(own)] });
      expect(Number.isInteger((answer as { data: { created: number }[] }).data[0]?.created)).toBe(true);
      expect(await modelsOf(all.secret)).toEqual(expect.arrayContaining([id, world.model.id]));
      await world.operator.credit(account, '-1.00');
      expect(await modelsOf(all.secret)).toEqual([]);
      await world.subscribe(account, { models: [world.model.id] });
      expect(await modelsOf(all.secret)).toEqual([world.model.id]);
      expect(await modelsOf(secret)).toEqual([]);
    },
  },
  {
    title: 'GET /v1/gateway/usage returns plan, windows with resets, wallet and key',
    covers: [
      'endpoints: GET /v1/gateway/usage',
      'usage object: object',
      'usage object: plan',
      'usage object: windows',
      'usage object: windows[].type',
      'usage object: windows[].label',
      'usage object: windows[].unit',
      'usage object: windows[].limit, used, remaining',
      'usage object: windows[].percentUsed',
      'usage object: windows[].resetsAt',
      'usage object: wallet',
      'usage object: key',
      'states and transitions: session_5h',
      'states and transitions: weekly',
      'states and transitions: monthly',
    ],
    async run(world) {
      const { account, secret } = await world.operator.account('1.00', { capUsd: '0.5' });
      const windows = [
        { type: 'session_5h', unit: 'requests', limit: 3 },
        { type: 'weekly', unit: 'usd', limit: '0.04' },
        { type: 'monthly', unit: 'usd', limit: '10' },
      ];
      const { periodEnd } = await world.subscribe(account, { windows });
      const before = Date.now();
      const call = await send(world.url, modelCall('/v1/chat/completions', secret, world.model.id));
      const after = Date.now();
      await world.settled(account, call.id);
      const usage = usageObject.strict().parse(jsonOf(await send(world.url, { path: '/v1/gateway/usage', secret })));
      expect(usage).toMatchObject({
        plan: { name: 'Contract', tier: 'contract', periodEnd },
        wallet: { balanceUsd: 1 },
        key: { monthlySpendCapUsd: 0.5, allowedModels: null },
      });
      const byType = new Map(usage.windows.map((window) => [window.type, window]));
      const session = byType.get('session_5h');
      expect(session).toMatchObject({ unit: 'requests', limit: 3, used: 1, remaining: 2, percentUsed: 33 });
      const opened = Date.parse(session?.resetsAt ?? '') - 5 * 3_600_000;
      expect(opened).toBeGreaterThanOrEqual(before - 1_000);
      expect(opened).toBeLessThanOrEqual(after + 1_000);
      const weekly = { unit: 'usd', limit: 0.04, used: 0.01, remaining: 0.03, percentUsed: 25, resetsAt: nextMonday() };
      expect(byType.get('weekly')).toMatchObject(weekly);
      expect(byType.get('monthly')).toMatchObject({
        unit: 'usd',
        limit: 10,
        used: 0.01,
        percentUsed: 0,
        resetsAt: periodEnd,
      });
      expect(usage.windows.map(({ label }) => label).sort()).toEqual(['Monthly', 'Session (5 hours)', 'Weekly']);
    },
  },
];

/** Returns 00:00 UTC of the next Monday. */
function nextMonday(): string {
  const now = new Date();
  const days = (8 - now.getUTCDay()) % 7 || 7;
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + days)).toISOString();
}
