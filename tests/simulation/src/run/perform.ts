import type { Subscription } from '@gateway/billing/subscriptions/terms-rules.js';
import { Client } from '../actors/client.js';
import { CallTruth } from '../check/truth.js';
import { anyOf } from '../hosts/run-parts.js';
import type { World } from '../hosts/world.js';
import type { Act, CallAct, PlanSeed } from '../scenario/scenario.js';
import { MODELS } from '../scenario/run-catalog.js';

const DAY_MS = 86_400_000;
const OPERATOR_MS = 2_000;
const OPERATOR = {
  actor: 'operator',
  origin: { client: '192.0.2.1', agent: null, requestId: 'operator' },
} as const;

/**
 * Returns a subscription whose period begins the day before the run and outlasts it, or null
 * without a plan.
 */
export function makeSubscription(
  startedAt: number,
  plan: number | null,
  plans: readonly PlanSeed[],
): Subscription | null {
  const seed = plan === null ? undefined : plans[plan];
  if (seed === undefined) return null;
  const window = { label: 'window' };
  return {
    id: 'period-1',
    start: startedAt - DAY_MS,
    end: startedAt + 20 * DAY_MS,
    planId: `plan-${plan}`,
    plan: {
      name: 'Plan',
      tier: 'plan',
      models: [MODELS[0]],
      requestsPerMinute: 100_000,
      allotments: [],
      concurrency: seed.concurrency,
      defaultKeyCapNanoUsd: null,
      activeKeysMax: 10,
      windows: [
        { ...window, type: 'session_5h', unit: 'usd', limit: BigInt(seed.windowUsdNanoUsd) },
        { ...window, type: 'weekly', unit: 'requests', limit: BigInt(seed.windowRequests) },
      ],
    },
  };
}

/** Performs one action of an operator or a client. */
export function perform(world: World, act: Act): void {
  const { accounts, outbox, scenario, time } = world;
  const account = 'account' in act ? (scenario.accounts[act.account]?.name ?? '') : '';
  switch (act.kind) {
    case 'call':
      return void call(world, act);
    case 'series':
      return callInTurn(world, act.calls);
    case 'wallet':
      return outbox.addToWallet(account, act.amountNanoUsd);
    case 'take_slot':
      return takeSlot(world, act.nth);
    case 'state':
      return accounts.setState(account, act.state);
    case 'rotate':
      return accounts.rotate(account, act.key);
    case 'terms':
      return outbox.setTerms(account, makeSubscription(time.startedAt, act.plan, scenario.plans));
  }
}

/** Makes the first call, and each further call when the response before it has ended. */
function callInTurn(world: World, [first, ...others]: readonly CallAct[]): void {
  if (first === undefined) return;
  const client = call(world, first);
  if (client === null) throw new Error('an edge was killed in a run of series calls');
  client.onEnded = () => world.time.in(null, 0, () => callInTurn(world, others));
}

/** Starts a call. Returns null if no edge runs at the client's place. */
function call(world: World, act: CallAct): Client | null {
  const { edges, truth, time, accounts, scenario } = world;
  const account = scenario.accounts[act.account]?.name ?? '';
  const edge = edges[act.edge];
  const secret = accounts.keys.get(account)?.[act.key]?.secret;
  if (!edge || secret === undefined) return null;
  const body = {
    model: MODELS[act.model],
    max_tokens: act.outputTokensMax,
    stream: act.streamed,
    messages: [{ role: 'user', content: String(truth.calls.length) }],
  };
  const client = new Client(world, edge.host, () => edge.verbs.edge.clock.nowMs(), secret, body);
  truth.calls.push(new CallTruth(act, account, edge, client));
  time.in(edge.host, 0, () => edge.serve(client));
  if (act.leavesAfterMs !== null) time.in(null, act.leavesAfterMs, () => client.leave());
  return client;
}

/** Takes back the slot of a running call, as an operator does. */
function takeSlot(world: World, nth: number): void {
  const { truth, accounts, admissions, network } = world;
  const running = truth.calls.filter(({ dispatchedAt, released }) => dispatchedAt !== null && released === null);
  const requestId = running[nth % Math.max(1, running.length)]?.id ?? null;
  const to = anyOf(world, admissions);
  if (requestId === null || to === null) return;
  const release = () => to.admission.releaseSlot({ requestId, author: OPERATOR });
  network.request(accounts.host, to.host, OPERATOR_MS, release).catch(() => undefined);
}
