import { expect } from '@jest/globals';
import { CHAT, COUNT_TOKENS, LEAST_BODY, MESSAGES, codeOf, modelCall, send } from './contract-call.js';
import type { ContractCase } from './contract-case.js';
import { kindFor } from './contract-world.js';

const LISTED_STATUSES = [
  '400 invalid_request',
  '401 missing_api_key',
  '402 no_funding',
  '403 model_not_allowed_on_key',
  '404 model_not_found',
  '429 rate_limit_exceeded',
  '500 upstream_error',
  '502 upstream_error',
];

export const BILLING_CASES: readonly ContractCase[] = [
  {
    title: 'failover after 429, 502, 503, 504 or a connection error is billed once',
    covers: ['what the service does: sentence 7 when an upstream answers'],
    async run(world) {
      const dead = 'http://127.0.0.1:1';
      const dying = [CHAT, MESSAGES, '/v1/responses'].flatMap((path) =>
        [429, 502, 503, 504, null].map((status) => ({ path, status })),
      );
      await Promise.all(
        dying.map(async ({ path, status }) => {
          const baseUrls = status === null ? [dead, world.simulator.urls[1]] : world.simulator.urls;
          const model = await world.makeModel({ baseUrls });
          if (status !== null) world.simulator.script({ model: model.upstream, listener: 'a', steps: [{ status }] });
          const answer = await send(world.url, modelCall(path, world.rich.secret, model.id));
          expect([path, status, codeOf(answer)]).toEqual([path, status, '200']);
          const { record } = await world.operator.record(answer.id);
          expect([record.attempts.length, record.chargedUsd]).toEqual([2, '0.01']);
        }),
      );
      const both = await world.scripted([{ status: 503 }], { baseUrls: world.simulator.urls });
      expect(codeOf(await send(world.url, modelCall(CHAT, world.rich.secret, both.id)))).toBe('503 upstream_error');
      expect(world.simulator.calls({ model: both.upstream })).toHaveLength(2);
    },
  },
  {
    title: 'every model endpoint responds with the listed statuses',
    covers: ['endpoints: sentence 2 error statuses listed for'],
    async run(world) {
      const broke = await world.operator.account('1.00');
      await world.operator.credit(broke.account, '-1.00');
      const { secret: narrow } = await world.operator.account('1.00', { allowedModels: ['nobody/nothing'] });
      const { secret } = world.rich;
      for (const path of Object.keys(LEAST_BODY)) {
        const upstream = await Promise.all(
          [429, 500, 502].map((status) => world.scripted([{ status }], kindFor(path))),
        );
        const { id: model } = world.modelFor(path);
        const calls = [
          modelCall(path, secret, model, { model: null }),
          modelCall(path, null, model),
          modelCall(path, broke.secret, model),
          modelCall(path, narrow, model),
          modelCall(path, secret, 'nobody/nothing'),
          ...upstream.map(({ id }) => modelCall(path, secret, id)),
        ];
        const answers = await Promise.all(calls.map((call) => send(world.url, call)));
        expect([path, answers.map(codeOf)]).toEqual([path, LISTED_STATUSES]);
      }
    },
  },
  {
    title: 'count_tokens and lists are not billed; a repeated request is billed again',
    covers: [
      'what the service does: sentence 8 billing requests to get',
      'endpoints: POST /v1/messages/count_tokens',
      'endpoints: GET /v1/models',
      'endpoints: GET /v1/gateway/usage',
    ],
    async run(world) {
      const { account, secret } = await world.operator.account('5.00');
      for (let n = 0; n < 3; n += 1) {
        expect((await send(world.url, modelCall(COUNT_TOKENS, secret, world.model.id))).status).toBe(200);
        expect((await send(world.url, { path: '/v1/models', secret })).status).toBe(200);
        expect((await send(world.url, { path: '/v1/gateway/usage', secret })).status).toBe(200);
      }
      for (let n = 0; n < 2; n += 1) {
        const { id } = await send(world.url, modelCall(CHAT, secret, world.model.id));
        await world.operator.record(id);
      }
      expect(await world.operator.chargedRecords(account)).toEqual({ count: 2, total: 20_000_000n });
      expect(await world.operator.walletUsd(account)).toBe('4.98');
    },
  },
  {
    title: 'funding: a plan pays first, a wallet without a plan or for other models',
    covers: [
      'what the service does: sentence 9 funding comes from a',
      'errors: 403 tier_permission_denied',
      'errors: 402 no_funding',
    ],
    async run(world) {
      const other = await world.makeModel();
      const { account, secret } = await world.operator.account('5.00');
      const paidBy = async (model: string): Promise<string[]> => {
        const { id } = await send(world.url, modelCall(CHAT, secret, model));
        const { record } = await world.operator.record(id);
        return [record.planUsd, record.walletUsd];
      };
      expect(await paidBy(world.model.id)).toEqual(['0.00', '0.01']);
      await world.subscribe(account, { models: [world.model.id] });
      expect(await paidBy(world.model.id)).toEqual(['0.01', '0.00']);
      expect(await paidBy(other.id)).toEqual(['0.00', '0.01']);
    },
  },
];
