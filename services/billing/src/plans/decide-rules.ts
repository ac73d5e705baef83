import { type ManagementRefusal, refuse } from '@gateway/contracts/operator';
import { isSamePlan, type PlanSpec, type PlanVersion, toPlanView } from './rules.js';

export interface PlanPut {
  readonly id: string;
  readonly plan: PlanSpec;
}

/** The requested changes of plans. Either all of them are applied or none. */
export interface PlansInput {
  readonly puts: readonly PlanPut[];
  readonly deletes: readonly string[];
  /** Deletes every plan that is not in `puts`. */
  readonly prune: boolean;
}

/** An existing or deleted plan, with its current version. */
export interface PlanState extends PlanVersion {
  readonly deleted: boolean;
  /** True if a subscription period that has not ended uses the plan. */
  readonly inUse: boolean;
}

export interface PlanChange {
  readonly id: string;
  readonly change: 'created' | 'changed' | 'unchanged' | 'deleted';
  readonly before: PlanVersion | null;
  readonly after: PlanVersion | null;
}

/**
 * Maximum size of all changes together. They are returned in one message, and the bus limit is
 * 1,000,000 bytes.
 */
export const CHANGES_BYTES_MAX = 800_000;

/**
 * Decides the changes of plans. Every change creates the next version; an equal plan creates none.
 * After a deletion, version numbers continue where they stopped. Changes are in the order of the
 * request; pruned plans are at the end, sorted by ID.
 */
export function decidePlans(
  wanted: PlansInput,
  known: ReadonlyMap<string, PlanState>,
  now: Date,
): PlanChange[] | ManagementRefusal {
  const changes = wanted.puts.map((put) => decidePut(put, known.get(put.id), now));
  const kept = new Set(wanted.puts.map(({ id }) => id));
  const pruned = wanted.prune ? [...known.values()].filter(({ id, deleted }) => !deleted && !kept.has(id)) : [];
  for (const id of [...wanted.deletes, ...pruned.map((plan) => plan.id).sort()]) {
    const plan = known.get(id);
    if (plan === undefined || plan.deleted) return refuse('not_found', `there is no plan ${id}`);
    if (plan.inUse) return refuse('in_use', `plan ${id} has subscriptions that have not ended`);
    changes.push({ id, change: 'deleted', before: versionOf(plan), after: null });
  }
  return encodeJson(changes) > CHANGES_BYTES_MAX
    ? refuse('invalid_request', 'too many changes for one document: apply it in parts')
    : changes;
}

function encodeJson(changes: readonly PlanChange[]): number {
  const versions = changes.flatMap(({ change, before, after }) => (change === 'unchanged' ? [] : [before, after]));
  return versions.reduce(
    (bytes, version) => bytes + (version === null ? 0 : Buffer.byteLength(JSON.stringify(toPlanView(version)))),
    0,
  );
}

function decidePut({ id, plan }: PlanPut, known: PlanState | undefined, now: Date): PlanChange {
  if (known === undefined) {
    return { id, change: 'created', before: null, after: { id, version: 1, plan, createdAt: now } };
  }
  const { version, createdAt } = known;
  const after = { id, version: version + 1, plan, createdAt };
  if (known.deleted) return { id, change: 'created', before: null, after };
  const before = versionOf(known);
  return isSamePlan(known.plan, plan)
    ? { id, change: 'unchanged', before, after: before }
    : { id, change: 'changed', before, after };
}

function versionOf({ id, version, plan, createdAt }: PlanState): PlanVersion {
  return { id, version, plan, createdAt };
}
