import { expect } from '@jest/globals';
import { until } from '@gateway/testkit';
import { CHAT, COUNT_TOKENS, codeOf, jsonOf, modelCall, send } from './contract-call.js';
import type { ContractAnswer } from './contract-call.js';
import type { ContractCase } from './contract-case.js';
import { waitForSecondsLeft } from './contract-minute.js';

const DEFAULT_PER_MINUTE = 60;
const OVER_THE_MINUTE = 10;
const SLOTS_WITHOUT_PLAN = 3;
const SLOTS_WITH_PLAN = 10;
/** Time for the calls of one minute on a busy machine. */
const SECONDS_OF_MANY_CALLS = 8;

export const LIMIT_CASES: readonly ContractCase[] = [
  {
    title: '60 requests per clock minute for all keys of an account; message says this key',
    covers: ['limits: Requests per minute', 'limits: rule 1 per minute counting uses', 'errors: 429 rate_limited'],
    async run(world) {
      const { account, secret } = await world.operator.account('5.00');
      const other = await world.operator.key(account);
      await world.operator.must('PUT', `/accounts/${account}/limits`, { concurrency: 100 });
      await waitForSecondsLeft(SECONDS_OF_MANY_CALLS);
      const request = (n: number): Promise<ContractAnswer> =>
        send(world.url, modelCall(CHAT, n % 2 === 0 ? secret : other.secret, world.model.id));
      const answers = await Promise.all(
        Array.from({ length: DEFAULT_PER_MINUTE + OVER_THE_MINUTE }, (_unused, n) => request(n)),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(DEFAULT_PER_MINUTE);
      const limited = answers.filter(({ status }) => status === 429);
      expect(limited).toHaveLength(OVER_THE_MINUTE);
      for (const answer of limited) {
        expect([codeOf(answer), answer.text]).toEqual(['429 rate_limited', expect.stringMatching(/this key/i)]);
        const left = 60 - Math.floor((Date.now() / 1_000) % 60);
        expect(Math.abs(Number(answer.headers['retry-after']) - left)).toBeLessThanOrEqual(5);
      }
      expect((await send(world.url, { path: '/v1/models', secret })).status).toBe(200);
    },
  },
  {
    title: 'requests refused with 402 or window_exhausted count per minute; lists do not',
    covers: [
      'limits: rule 2 requests rejected with 402',
      'endpoints: GET /v1/models',
      'endpoints: GET /v1/gateway/usage',
    ],
    async run(world) {
      const poor = await world.operator.account('0.001');
      await world.operator.limits(poor.account, 2, 3);
      const windowed = await world.operator.account('5.00');
      await world.subscribe(windowed.account, { windows: [{ type: 'weekly', unit: 'requests', limit: 1 }] });
      const first = await send(world.url, modelCall(CHAT, windowed.secret, world.model.id));
      await world.operator.record(first.id);
      await world.operator.limits(windowed.account, 2, 3);
      for (const [secret, refused] of [
        [poor.secret, '402 insufficient_credits'],
        [windowed.secret, '429 window_exhausted'],
      ] as const) {
        for (const path of ['/v1/models', '/v1/gateway/usage', '/v1/models', '/v1/gateway/usage']) {
          expect((await send(world.url, { path, secret })).status).toBe(200);
        }
        // Three of five consecutive calls are in one minute, and only two of these are not limited.
        const codes: string[] = [];
        for (let n = 0; n < 5; n += 1)
          codes.push(codeOf(await send(world.url, modelCall(CHAT, secret, world.model.id))));
        expect(codes).toEqual(expect.arrayContaining([refused, '429 rate_limited']));
        expect(new Set(codes)).toEqual(new Set([refused, '429 rate_limited']));
      }
    },
  },
  {
    title: '3 concurrent requests without a plan, 10 with one; a stream keeps its slot',
    covers: [
      'limits: Concurrent requests',
      'events: sentence 1 streaming with stream true',
      'errors: 429 concurrency_limit',
    ],
    async run(world) {
      for (const [slots, plan] of [
        [SLOTS_WITHOUT_PLAN, null],
        [SLOTS_WITH_PLAN, {}],
      ] as const) {
        const { account, secret } = await world.operator.account('5.00');
        if (plan !== null) await world.subscribe(account, plan);
        const sseEvent = 'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n';
        const head = { status: 200, headers: { 'content-type': 'text/event-stream' } };
        const slow = await world.scripted([
          head,
          { chunk: sseEvent },
          { waitFor: account },
          { chunk: 'data: [DONE]\n\n' },
        ]);
        const streams = Array.from({ length: slots }, () =>
          send(world.url, modelCall(CHAT, secret, slow.id, { stream: true })),
        );
        for (const stream of streams) stream.catch(() => undefined);
        await until('the streams run', () => world.simulator.calls({ model: slow.upstream }).length === slots);
        const over = await send(world.url, modelCall(CHAT, secret, world.model.id));
        expect([codeOf(over), over.headers['retry-after']]).toEqual(['429 concurrency_limit', '2']);
        // An unfunded call takes no slot.
        expect((await send(world.url, modelCall(COUNT_TOKENS, secret, world.model.id))).status).toBe(200);
        world.simulator.release(account, slots);
        expect((await Promise.all(streams)).map(({ status, cut }) => [status, cut])).toEqual(
          streams.map(() => [200, false]),
        );
        expect(codeOf(await send(world.url, modelCall(CHAT, secret, world.model.id)))).toBe('200');
      }
    },
  },
  {
    title: 'each exhausted window refuses requests until its reset',
    covers: [
      'limits: Usage windows (session_5h, weekly, monthly)',
      'states and transitions: sentence 2 when any window is',
      'what the service does: sentence 6 before a request reaches',
      'errors: 429 window_exhausted',
      'errors: sentence 3 retry after seconds is',
    ],
    async run(world) {
      await Promise.all(
        (['session_5h', 'weekly', 'monthly'] as const).flatMap((type) =>
          [
            { type, unit: 'requests', limit: 1 },
            { type, unit: 'usd', limit: '0.01' },
          ].map(async (window) => {
            const { account, secret } = await world.operator.account('5.00');
            await world.subscribe(account, { windows: [window] });
            const paid = await send(world.url, modelCall(CHAT, secret, world.model.id));
            expect(paid.status).toBe(200);
            const { record } = await world.settled(account, paid.id);
            expect([record.planUsd, record.walletUsd]).toEqual(['0.01', '0.00']);
            const refused = await send(world.url, modelCall(CHAT, secret, world.model.id));
            expect(codeOf(refused)).toBe('429 window_exhausted');
            const usage = jsonOf(await send(world.url, { path: '/v1/gateway/usage', secret }));
            const [shown] = (usage as { windows: { resetsAt: string; remaining: number }[] }).windows;
            expect(shown?.remaining).toBe(0);
            const left = (Date.parse(shown?.resetsAt ?? '') - Date.now()) / 1_000;
            expect(Math.abs(Number(refused.headers['retry-after']) - left)).toBeLessThan(10);
          }),
        ),
      );
    },
  },
  {
    title: 'model_limit_reached: other models still work',
    covers: ['errors: 429 model_limit_reached'],
    async run(world) {
      const limited = await world.makeModel();
      const { account, secret } = await world.operator.account('5.00');
      await world.subscribe(account, { modelAllotments: [{ modelId: limited.id, unit: 'requests', limit: 1 }] });
      const codes: string[] = [];
      for (const model of [limited.id, limited.id, world.model.id]) {
        const answer = await send(world.url, modelCall(CHAT, secret, model));
        if (answer.status === 200) await world.operator.record(answer.id);
        codes.push(codeOf(answer));
      }
      expect(codes).toEqual(['200', '429 model_limit_reached', '200']);
    },
  },
  {
    title: 'key_limit_reached: three keys or the plan’s number, without revoked keys',
    covers: [
      'api key: rule 3 each plan sets a',
      'limits: rule 8 active keys per account',
      'states and transitions: (none) create in dashboard',
      'states and transitions: active revoke',
    ],
    async run(world) {
      const { account, key } = await world.operator.account('5.00');
      const create = async (): Promise<string> => {
        const { status, body } = await world.operator.request('POST', `/accounts/${account}/keys`, { name: 'k' });
        return status === 201 ? '201' : `${status} ${(body as { error: { code: string } }).error.code}`;
      };
      expect([await create(), await create(), await create()]).toEqual(['201', '201', '409 key_limit_reached']);
      await world.operator.setKey(key, 'revoke');
      expect([await create(), await create()]).toEqual(['201', '409 key_limit_reached']);
      await world.subscribe(account, { maxActiveKeys: 4 });
      expect([await create(), await create()]).toEqual(['201', '409 key_limit_reached']);
    },
  },
];
