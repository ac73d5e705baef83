import type { RefusalCode } from '@gateway/contracts/errors';
import { DEFAULT_KEY_PREFIX, makeSecret } from '@gateway/contracts/ids';
import type { AccountView } from '@gateway/contracts/operator';
import { until } from '@gateway/testkit';
import { LEAST_BODY, send } from './contract-call.js';
import type { ContractAnswer, Style } from './contract-call.js';
import { CENT } from './contract-world.js';
import type { ContractModel, ContractSystem } from './contract-world.js';

export interface OrderScene {
  readonly steps: readonly OrderStep[];
  /** Makes a call that breaks every rule that is not repaired yet. */
  call(): Promise<ContractAnswer>;
  /** Makes the same call on count_tokens, which takes no slot and is not funded. */
  count(): Promise<ContractAnswer>;
}

const TOO_LONG = 10_485_761;
/** Does not cover a call that costs more. */
const LEAST_USD = '0.000000001';

/**
 * Arranges an account, keys and a model with all faults that are possible at the same time, and the
 * repairs in the order of refusals. `plan`: a plan pays for the model. `wallet`: only the wallet
 * pays. A call before the n-th repair breaks the n-th rule and all later ones, so its response
 * shows that the n-th rule comes first.
 */
export async function arrangeOrder(world: ContractSystem, funding: Funding, style: Style): Promise<OrderScene> {
  const actors = await fundedAccount(world, funding, style);
  await breakEverything(actors, funding);
  const { model, parts } = actors;
  const request = (path: string): Promise<ContractAnswer> => {
    const { secret, contentType, announcedBytes } = parts;
    const body = announcedBytes === null ? { body: bodyOf(model) } : { announcedBytes };
    return send(world.url, { path, secret, headers: { 'content-type': contentType }, ...body });
  };
  return {
    steps: orderSteps(actors, funding),
    call: () => request(parts.path),
    count: () => request('/v1/messages/count_tokens'),
  };
}

async function fundedAccount(world: ContractSystem, funding: Funding, style: Style): Promise<Actors> {
  const { operator } = world;
  const team = await world.teamAccount();
  await operator.credit(team.id, '5.00');
  await operator.limits(team.id, 1_000, 10);
  const model = await world.makeModel();
  const prices = { ...CENT, perCall: LEAST_USD };
  const slow = await world.scripted([{ waitFor: team.id }], { model: { prices } }, 1);
  const keys = {
    free: await operator.key(team.id),
    capped: await operator.key(team.id, { capUsd: LEAST_USD }),
    narrow: await operator.key(team.id, { capUsd: LEAST_USD, allowedModels: ['nobody/nothing'] }),
  };
  const plans = orderPlans(world, team.id, model, slow);
  if (funding === 'plan') {
    await plans.begin();
    await useOnce(world, keys.free.secret, model);
  }
  const held = send(world.url, { path: PATHS.chat, secret: keys.free.secret, body: bodyOf(slow) });
  // A later step awaits this call. If a step before it fails, the provider's end rejects the call.
  held.catch(() => undefined);
  await until('the slot is taken', () => world.simulator.calls({ model: slow.upstream }).length === 1);
  const parts = { path: `${PATHS[style]}/`, secret: null, contentType: 'text/plain', announcedBytes: TOO_LONG };
  return { world, style, team, model, keys, plans, held, parts };
}

async function breakEverything(actors: Actors, funding: Funding): Promise<void> {
  const { world, team, model, keys, plans } = actors;
  if (funding === 'plan') await plans.exhaust();
  await world.operator.credit(team.id, '-5.01');
  await world.operator.limits(team.id, 1, 1);
  await world.capOwner(team, LEAST_USD);
  await world.operator.setKey(keys.narrow.key, 'suspend');
  await putModel(actors, { active: false, available: false, prices: null });
  await world.putSource(model, { endpoints: ['/v1/embeddings'], enabled: false });
}

function bodyOf(model: ContractModel): object {
  return { model: model.id, ...LEAST_BODY[PATHS.messages] };
}

/** Makes one call and waits until it is paid and settled. */
async function useOnce(world: ContractSystem, secret: string, model: ContractModel): Promise<void> {
  const answer = await send(world.url, { path: PATHS.chat, secret, body: bodyOf(model) });
  if (answer.status !== 200) throw new Error(`the first call was refused: ${answer.text}`);
  await world.operator.record(answer.id);
}

/** Plans of one period, so that used windows and allotments stay used. */
function orderPlans(world: ContractSystem, account: string, model: ContractModel, slow: ContractModel) {
  const periodStart = Date.now() - 60_000;
  const move = async (plan: object): Promise<void> => {
    await world.subscribe(account, plan, periodStart);
  };
  // One cent of it is used. The rest does not cover another call.
  const usd = { type: 'weekly', unit: 'usd', limit: '0.0101' };
  const requests = (limit: number): object => ({ type: 'monthly', unit: 'requests', limit });
  const allotment = (limit: number): object => ({ modelId: model.id, unit: 'requests', limit });
  return {
    begin: () => move({ windows: [{ ...usd, limit: '1' }, requests(10)], modelAllotments: [allotment(10)] }),
    exhaust: () => move({ windows: [usd, requests(1)], modelAllotments: [allotment(1)] }),
    withAllotment: () => move({ windows: [usd, requests(10)], modelAllotments: [allotment(1)] }),
    withFewCredits: () => move({ windows: [usd, requests(10)] }),
    withoutModel: () => move({ models: [slow.id] }),
  };
}

const PATHS: Readonly<Record<Style, string>> = { chat: '/v1/chat/completions', messages: '/v1/messages' };

/** Parameters of a scene's next call. Each repair changes one of them, or the account. */
interface CallParts {
  path: string;
  secret: string | null;
  contentType: string;
  /** Null: the complete body is sent. */
  announcedBytes: number | null;
}

/** A refusal of the order. Its cause exists from the beginning until it is repaired. */
export interface OrderStep {
  readonly code: RefusalCode;
  repair(): Promise<void>;
}

/** The funding of the model. */
type Funding = 'plan' | 'wallet';

/** Everything that the calls of a scene depend on. */
interface Actors {
  readonly world: ContractSystem;
  readonly style: Style;
  readonly team: AccountView;
  readonly model: ContractModel;
  /** Keys: without a cap; with a cap that covers no call; with such a cap and without the model. */
  readonly keys: Readonly<Record<'free' | 'capped' | 'narrow', { readonly key: string; readonly secret: string }>>;
  readonly plans: ReturnType<typeof orderPlans>;
  /** The call that uses the only slot. */
  readonly held: Promise<unknown>;
  readonly parts: CallParts;
}

/** Returns all refusals that can be caused together with this funding, in their order. */
function orderSteps(actors: Actors, funding: Funding): readonly OrderStep[] {
  const ofFunding = funding === 'plan' ? planSteps(actors) : walletSteps(actors);
  return [...requestSteps(actors), ...modelSteps(actors), ...ofFunding, ...lastSteps(actors)];
}

function requestSteps({ world: { operator }, style, team, keys, parts }: Actors): OrderStep[] {
  return [
    step('unsupported_endpoint', () => (parts.path = PATHS[style])),
    step('missing_api_key', () => (parts.secret = makeSecret(DEFAULT_KEY_PREFIX))),
    step('invalid_api_key', () => (parts.secret = keys.narrow.secret)),
    step('key_inactive', () => operator.setKey(keys.narrow.key, 'reinstate')),
    step('rate_limited', () => operator.limits(team.id, 1_000, 1)),
    step('request_entity_too_large', () => (parts.announcedBytes = null)),
    step('invalid_request', () => (parts.contentType = 'application/json')),
  ];
}

function modelSteps(actors: Actors): OrderStep[] {
  const { world, model, keys, parts } = actors;
  return [
    step('model_not_found', () => putModel(actors, { active: true, available: false })),
    step('model_not_allowed_on_key', () => (parts.secret = keys.capped.secret)),
    step('endpoint_not_supported_for_model', () => world.putSource(model, { enabled: false })),
    step('model_not_available', () => putModel(actors, {})),
    step('model_not_priced', () => putModel(actors, { prices: CENT })),
    step('no_upstream_available', () => world.putSource(model, {})),
  ];
}

function walletSteps(actors: Actors): OrderStep[] {
  const { world, team, plans } = actors;
  return [
    debtStep(actors),
    step('no_funding', () => plans.withoutModel()),
    step('tier_permission_denied', () => world.operator.credit(team.id, '0.001')),
    slotStep(actors),
  ];
}

function planSteps(actors: Actors): OrderStep[] {
  const { plans } = actors;
  return [
    debtStep(actors),
    slotStep(actors),
    step('window_exhausted', () => plans.withAllotment()),
    step('model_limit_reached', () => plans.withFewCredits()),
  ];
}

function lastSteps({ world, team, keys, parts }: Actors): OrderStep[] {
  return [
    step('insufficient_credits', () => world.operator.credit(team.id, '5.00')),
    step('member_cap_reached', () => world.capOwner(team, null)),
    step('monthly_spend_cap_exceeded', () => (parts.secret = keys.free.secret)),
  ];
}

function debtStep({ world: { operator }, team }: Actors): OrderStep {
  return step('outstanding_debt', async () => {
    const balance = await operator.walletUsd(team.id);
    if (balance?.startsWith('-') !== true) throw new Error(`the balance is ${balance}: there is no debt to repair`);
    await operator.credit(team.id, balance.slice(1));
  });
}

function slotStep({ world, team, held }: Actors): OrderStep {
  return step('concurrency_limit', async () => {
    world.simulator.release(team.id);
    await held;
    await world.operator.untilSlots(team.id, 0);
  });
}

function step(code: RefusalCode, repair: () => unknown): OrderStep {
  return {
    code,
    async repair() {
      await repair();
    },
  };
}

/** Saves the model with these fields. Without `prices`, the prices stay. */
async function putModel({ world, model }: Actors, fields: object): Promise<void> {
  await world.operator.putInForce(`/models/${model.id}`, { displayName: 'order', kind: 'chat', ...fields });
}
