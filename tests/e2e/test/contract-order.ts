import { until } from '@gateway/testkit';
import { LEAST_BODY, send } from './contract-call.js';
import type { ContractAnswer, Style } from './contract-call.js';
import { orderPlans } from './contract-order-plans.js';
import { PATHS, orderSteps, putModel } from './contract-order-steps.js';
import type { Actors, Funding, OrderStep } from './contract-order-steps.js';
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
  // Awaited when its refusal is repaired. If a scene fails before, the call ends with the provider.
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
