import type { Bus } from '@gateway/bus';
import {
  type AnswerBodyOf,
  billingApplyPlans,
  billingDeletePlan,
  billingGetPlan,
  billingListPlans,
  billingPutPlan,
  type ReceivedOf,
} from '@gateway/contracts/messages';
import { type ApplyChange, isRefusal, refuse } from '@gateway/contracts/operator';
import { buildPage, readIdCursor } from '../ledger/page.js';
import type { PlanChange, PlanPut } from './decide-rules.js';
import { planFromWire, type PlanVersion, toPlanView } from './rules.js';
import type { PlanStore } from './store.js';

export interface ChangePlansDeps {
  readonly store: Pick<PlanStore, 'changePlans'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Creates a plan or its next version; running periods keep their version. */
export async function putPlan(
  { store, now }: ChangePlansDeps,
  { id, spec, author }: ReceivedOf<typeof billingPutPlan>,
): Promise<AnswerBodyOf<typeof billingPutPlan>> {
  const wanted = { puts: [{ id, plan: planFromWire(spec) }], deletes: [], prune: false };
  const changes = await store.changePlans({ ...wanted, author, now: now(), dryRun: false });
  if (isRefusal(changes)) return changes;
  const [made] = changes;
  if (made === undefined || made.after === null || made.change === 'deleted')
    throw new Error(`plan ${id} was not written`);
  return { change: made.change, plan: toPlanView(made.after) };
}

/** Deletes a plan. Its versions are kept, because ended periods and their records refer to them. */
export async function deletePlan(
  { store, now }: ChangePlansDeps,
  { id, author }: ReceivedOf<typeof billingDeletePlan>,
): Promise<AnswerBodyOf<typeof billingDeletePlan>> {
  const wanted = { puts: [], deletes: [id], prune: false };
  const changes = await store.changePlans({ ...wanted, author, now: now(), dryRun: false });
  return isRefusal(changes) ? changes : { deleted: true };
}

/** Applies a document of plans, all or none. A dry run is rolled back. */
export async function applyPlans(
  { store, now }: ChangePlansDeps,
  { plans, prune, dryRun, author }: ReceivedOf<typeof billingApplyPlans>,
): Promise<AnswerBodyOf<typeof billingApplyPlans>> {
  const puts: PlanPut[] = [];
  for (const [index, { id, spec }] of plans.entries()) {
    if (puts.some((put) => put.id === id))
      return refuse('invalid_request', `plan ${id} is listed twice`, `objects[${index}]`);
    puts.push({ id, plan: planFromWire(spec) });
  }
  const changes = await store.changePlans({ puts, deletes: [], prune, author, now: now(), dryRun });
  if (isRefusal(changes)) return changes;
  const made = changes.filter(({ change }) => change !== 'unchanged');
  return { changes: made.map(toApplyChange), unchanged: changes.length - made.length };
}

function toApplyChange({ id, change, before, after }: PlanChange): ApplyChange {
  return {
    kind: 'plan',
    id,
    change,
    before: toAuditContent(before),
    after: toAuditContent(after),
    credentialChanged: false,
  };
}

/** Omits the time, so that the result of a dry run equals the result of the later run. */
function toAuditContent(version: PlanVersion | null): Record<string, unknown> | null {
  if (version === null) return null;
  const { createdAt: _createdAt, ...view } = toPlanView(version);
  return view;
}

/** Returns a plan in its current version. */
export async function showPlan(
  store: Pick<PlanStore, 'plan'>,
  { id }: ReceivedOf<typeof billingGetPlan>,
): Promise<AnswerBodyOf<typeof billingGetPlan>> {
  const plan = await store.plan(id);
  return plan === null ? refuse('not_found', `there is no plan ${id}`) : { plan: toPlanView(plan) };
}

/** Returns all plans, ordered by ID. */
export async function showPlans(
  store: Pick<PlanStore, 'plans'>,
  { cursor, limit }: ReceivedOf<typeof billingListPlans>,
): Promise<AnswerBodyOf<typeof billingListPlans>> {
  const place = readIdCursor(cursor);
  if (isRefusal(place)) return place;
  const { items, nextCursor } = buildPage(await store.plans(place.after, limit + 1), limit, {
    nameOf: ({ id }) => id,
    viewOf: toPlanView,
  });
  return { plans: items, nextCursor };
}

/** Serves the requests that change or show plans. */
export function servePlans(bus: Pick<Bus, 'serve'>, deps: ChangePlansDeps & { readonly store: PlanStore }): void {
  bus.serve(billingPutPlan, (body) => putPlan(deps, body));
  bus.serve(billingDeletePlan, (body) => deletePlan(deps, body));
  bus.serve(billingApplyPlans, (body) => applyPlans(deps, body));
  bus.serve(billingGetPlan, (body) => showPlan(deps.store, body));
  bus.serve(billingListPlans, (body) => showPlans(deps.store, body));
}
