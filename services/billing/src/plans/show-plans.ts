import type { AnswerBodyOf, billingGetPlan, billingListPlans, ReceivedOf } from '@gateway/contracts/messages';
import { isRefusal, refuse } from '@gateway/contracts/operator';
import { pageOf, readIdCursor } from '../ledger/page.js';
import type { PlanStore } from '../operator-ports.js';
import { toPlanView } from './rules.js';

/** A plan in its current version. */
export async function showPlan(
  store: Pick<PlanStore, 'plan'>,
  { id }: ReceivedOf<typeof billingGetPlan>,
): Promise<AnswerBodyOf<typeof billingGetPlan>> {
  const plan = await store.plan(id);
  return plan === null ? refuse('not_found', `there is no plan ${id}`) : { plan: toPlanView(plan) };
}

/** All plans by their ids. */
export async function showPlans(
  store: Pick<PlanStore, 'plans'>,
  { cursor, limit }: ReceivedOf<typeof billingListPlans>,
): Promise<AnswerBodyOf<typeof billingListPlans>> {
  const place = readIdCursor(cursor);
  if (isRefusal(place)) return place;
  const { items, nextCursor } = pageOf(await store.plans(place.after, limit + 1), limit, {
    nameOf: ({ id }) => id,
    viewOf: toPlanView,
  });
  return { plans: items, nextCursor };
}
