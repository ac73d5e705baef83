import type {
  AnswerBodyOf,
  billingApplyPlans,
  billingDeletePlan,
  billingPutPlan,
  ReceivedOf,
} from '@gateway/contracts/messages';
import { type ApplyChange, isRefusal, refuse } from '@gateway/contracts/operator';
import type { PlanStore } from '../operator-ports.js';
import type { PlanChange, PlanPut } from './decide-rules.js';
import { planFromWire, type PlanVersion, toPlanView } from './rules.js';

export interface PlanDeps {
  readonly store: Pick<PlanStore, 'changePlans'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Makes a plan, or its next version; periods that run keep theirs. */
export async function putPlan(
  { store, now }: PlanDeps,
  { id, spec, actor }: ReceivedOf<typeof billingPutPlan>,
): Promise<AnswerBodyOf<typeof billingPutPlan>> {
  const wish = { puts: [{ id, plan: planFromWire(spec) }], deletes: [], prune: false };
  const changes = await store.changePlans({ ...wish, actor, now: now(), dryRun: false });
  if (isRefusal(changes)) return changes;
  const [made] = changes;
  if (made === undefined || made.after === null || made.change === 'deleted') throw new Error(`plan ${id} was not put`);
  return { change: made.change, plan: toPlanView(made.after) };
}

/** Its versions stay: periods that have ended, and their records, name them. */
export async function deletePlan(
  { store, now }: PlanDeps,
  { id, actor }: ReceivedOf<typeof billingDeletePlan>,
): Promise<AnswerBodyOf<typeof billingDeletePlan>> {
  const wish = { puts: [], deletes: [id], prune: false };
  const changes = await store.changePlans({ ...wish, actor, now: now(), dryRun: false });
  return isRefusal(changes) ? changes : { deleted: true };
}

/** Brings the plans into the form of a document, all or none; a dry run does the same and takes it back. */
export async function applyPlans(
  { store, now }: PlanDeps,
  { plans, prune, dryRun, actor }: ReceivedOf<typeof billingApplyPlans>,
): Promise<AnswerBodyOf<typeof billingApplyPlans>> {
  const puts: PlanPut[] = [];
  for (const [index, { id, spec }] of plans.entries()) {
    if (puts.some((put) => put.id === id))
      return refuse('invalid_request', `plan ${id} stands twice`, `objects[${index}]`);
    puts.push({ id, plan: planFromWire(spec) });
  }
  const changes = await store.changePlans({ puts, deletes: [], prune, actor, now: now(), dryRun });
  if (isRefusal(changes)) return changes;
  const made = changes.filter(({ change }) => change !== 'unchanged');
  return { changes: made.map(toApplyChange), unchanged: changes.length - made.length };
}

function toApplyChange({ id, change, before, after }: PlanChange): ApplyChange {
  return { kind: 'plan', id, change, before: content(before), after: content(after), credentialChanged: false };
}

/** Without the time, so that a dry run shows exactly what is done later. */
function content(version: PlanVersion | null): Record<string, unknown> | null {
  if (version === null) return null;
  const { createdAt: _createdAt, ...view } = toPlanView(version);
  return view;
}
