import { type ManagementRefusal, refuse } from '@gateway/contracts/operator';
import { isSamePlan, type PlanSpec, type PlanVersion, toPlanView } from './rules.js';

export interface PlanPut {
  readonly id: string;
  readonly plan: PlanSpec;
}

/** What an operator wants of the plans, all of it or nothing. */
export interface PlansInput {
  readonly puts: readonly PlanPut[];
  readonly deletes: readonly string[];
  /** Deletes every plan that is not put. */
  readonly prune: boolean;
}

/** A plan that was made once, with its current version. */
export interface PlanState extends PlanVersion {
  readonly deleted: boolean;
  /** A subscription period that has not ended is on it. */
  readonly inUse: boolean;
}

export interface PlanChange {
  readonly id: string;
  readonly change: 'created' | 'changed' | 'unchanged' | 'deleted';
  readonly before: PlanVersion | null;
  readonly after: PlanVersion | null;
}

/**
 * Of all changes together, below the 1,000,000 that the bus carries: they are answered as a whole.
 */
export const CHANGES_BYTES_MAX = 800_000;

/**
 * Every change makes the next version, an equal plan none; a plan that was deleted goes on counting
 * where it stopped. Changes come in the order of the wish, what is pruned at the end by its id.
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
  return bytesOf(changes) > CHANGES_BYTES_MAX
    ? refuse('invalid_request', 'these are too many changes for one document: apply it in parts')
    : changes;
}

function bytesOf(changes: readonly PlanChange[]): number {
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
