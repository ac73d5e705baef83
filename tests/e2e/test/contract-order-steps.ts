import { REFUSAL } from '@gateway/contracts/errors';
import type { RefusalCode, RefusalRank } from '@gateway/contracts/errors';
import { DEFAULT_KEY_PREFIX, makeSecret } from '@gateway/contracts/ids';
import type { AccountView } from '@gateway/contracts/operator';
import type { Style } from './contract-call.js';
import type { orderPlans } from './contract-order-plans.js';
import { CENT } from './contract-world.js';
import type { ContractModel, ContractSystem } from './contract-world.js';

export const PATHS: Readonly<Record<Style, string>> = { chat: '/v1/chat/completions', messages: '/v1/messages' };

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
  readonly rank: RefusalRank;
  readonly code: RefusalCode;
  repair(): Promise<void>;
}

/** The funding of the model. */
export type Funding = 'plan' | 'wallet';

/** Everything that the calls of a scene depend on. */
export interface Actors {
  readonly world: ContractSystem;
  readonly style: Style;
  readonly team: AccountView;
  readonly model: ContractModel;
  /**
   * A key without a cap; a key whose cap covers no call; a key with such a cap and without the
   * model.
   */
  readonly keys: Readonly<Record<'free' | 'capped' | 'narrow', { readonly key: string; readonly secret: string }>>;
  readonly plans: ReturnType<typeof orderPlans>;
  /** The call that uses the only slot. */
  readonly held: Promise<unknown>;
  readonly parts: CallParts;
}

/** Returns all refusals that can be caused together with this funding, in their order. */
export function orderSteps(actors: Actors, funding: Funding): readonly OrderStep[] {
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
    rank: REFUSAL[code],
    code,
    async repair() {
      await repair();
    },
  };
}

/** Saves the model with these fields. Without `prices`, the prices stay. */
export async function putModel({ world, model }: Actors, fields: object): Promise<void> {
  await world.operator.putInForce(`/models/${model.id}`, { displayName: 'order', kind: 'chat', ...fields });
}
