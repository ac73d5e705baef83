import { until } from '@gateway/testkit';
import { CHAT, modelCall, send } from './contract-call.js';
import { waitForSecondsLeft } from './contract-minute.js';
import { makeCall } from './contract-situation.js';
import type { ErrorSituation } from './contract-situation.js';
import type { ContractSystem } from './contract-world.js';

const SECONDS_OF_A_MINUTE = /^([1-9]|[1-5]\d|60)$/;
/** Time for the calls of one situation. */
const SECONDS_OF_FEW_CALLS = 3;
const limited = { status: 429, type: 'rate_limit_error', messagesType: 'rate_limit_error' };

/** Refusals because a limit of the account is reached. */
export const LIMIT_REFUSALS: readonly ErrorSituation[] = [
  {
    expected: { ...limited, code: 'rate_limited', retryAfter: SECONDS_OF_A_MINUTE, message: /this key/i },
    arrange: async (world) => {
      const { account, secret } = await world.operator.account('1.00');
      await world.operator.limits(account, 1, 3);
      const call = makeCall(secret, world.model.id);
      await waitForSecondsLeft(SECONDS_OF_FEW_CALLS);
      await until('a call is refused', async () => (await send(world.url, call('chat'))).status === 429);
      return call;
    },
  },
  {
    expected: { ...limited, code: 'concurrency_limit', retryAfter: /^2$/ },
    arrange: async (world) => {
      const { account, secret } = await world.operator.account('1.00');
      await world.operator.limits(account, 1_000, 1);
      const slow = await world.scripted([{ waitFor: account }], {}, 1);
      void send(world.url, modelCall(CHAT, secret, slow.id)).catch(() => undefined);
      await until('the slot is taken', () => world.simulator.calls({ model: slow.upstream }).length === 1);
      return makeCall(secret, world.model.id);
    },
  },
  {
    expected: { ...limited, code: 'window_exhausted', retryAfter: /^1[78]\d{3}$/, noRetry: true, message: /reset/i },
    arrange: async (world) => {
      const windows = [{ type: 'session_5h', unit: 'requests', limit: 1 }];
      return makeCall(await usedUp(world, { windows }), world.model.id);
    },
  },
  {
    expected: {
      ...limited,
      code: 'model_limit_reached',
      retryAfter: /^2\d{6}$/,
      noRetry: true,
      message: /\d{4}-\d{2}-\d{2}/,
    },
    arrange: async (world) => {
      const modelAllotments = [{ modelId: world.model.id, unit: 'requests', limit: 1 }];
      return makeCall(await usedUp(world, { modelAllotments }), world.model.id);
    },
  },
];

/** Returns the key of an account whose plan allows one call, after that call is settled. */
async function usedUp(world: ContractSystem, plan: object): Promise<string> {
  const { account, secret } = await world.operator.account('1.00');
  await world.subscribe(account, plan);
  const first = await send(world.url, modelCall(CHAT, secret, world.model.id));
  if (first.status !== 200) throw new Error(`the plan did not pay: ${first.text}`);
  await world.operator.record(first.id);
  return secret;
}
