import type { ManagementRefusal } from '@gateway/contracts/operator';
import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import { insertChange } from '../ledger/change-rows.js';
import type { PlansRequest, PlanStore } from '../operator-ports.js';
import { timeOf } from '../subscriptions/periods-store.js';
import { enqueueRefresh } from '../subscriptions/renewals-store.js';
import { decidePlans, type KnownPlan, type PlanChange } from './decide-rules.js';
import { planFromStored, planToStored, type StoredPlan } from './plan-rows.js';
import { type PlanVersion, toPlanView } from './rules.js';

export function makePlanStore(pool: Pool): PlanStore {
  const queries = onPool(pool);
  return {
    async plan(id) {
      const row = await queries.one<PlanRow>(`${SELECTION} WHERE plan.id = $1 AND plan.deleted_at IS NULL`, [id]);
      return row === null ? null : versionFromRow(row);
    },
    async plans(after, limit) {
      const rows = await queries.query<PlanRow>(
        `${SELECTION} WHERE plan.deleted_at IS NULL AND ($1::text IS NULL OR plan.id > $1) ORDER BY plan.id LIMIT $2`,
        [after, limit],
      );
      return rows.map(versionFromRow);
    },
    async changePlans(request) {
      try {
        return await inTransaction(pool, (tx) => changePlans(tx, request));
      } catch (error) {
        if (error instanceof TakenBack) return error.changes;
        throw error;
      }
    },
  };
}

interface PlanRow {
  id: string;
  current_version: number;
  deleted: boolean;
  spec: StoredPlan;
  created_at: Date;
}

const SELECTION = `SELECT plan.id, plan.current_version, plan.deleted_at IS NOT NULL AS deleted, version.spec, first.created_at
  FROM plans plan
  JOIN plan_versions version ON version.plan_id = plan.id AND version.version = plan.current_version
  JOIN plan_versions first ON first.plan_id = plan.id AND first.version = 1`;

/** Ends a dry run: what was written is rolled back, what it would have been is told. */
class TakenBack extends Error {
  constructor(readonly changes: PlanChange[]) {
    super('a dry run is taken back');
  }
}

/** Plans are few and changed by people: their changes wait for each other, whichever plans they name. */
async function changePlans(tx: Tx, request: PlansRequest): Promise<PlanChange[] | ManagementRefusal> {
  const begun = await tx.one<{ now: Date }>(
    `SELECT now() FROM pg_advisory_xact_lock(hashtextextended('change plans ' || current_schema(), 0))`,
  );
  const known = await readKnown(tx, request);
  const decided = decidePlans(request, known, begun?.now ?? new Date(0));
  if (!Array.isArray(decided)) return decided;
  for (const change of decided) {
    await writePlan(tx, change, request.actor);
    if (change.change === 'changed') await enqueueRefresh(tx, change.id, request.now);
  }
  if (request.dryRun) throw new TakenBack(decided);
  return decided;
}

/** The plans that are named, all of them for a prune; locked against periods that are put on them meanwhile. */
async function readKnown(tx: Tx, { puts, deletes, prune, now }: PlansRequest): Promise<Map<string, KnownPlan>> {
  const named = [...puts.map(({ id }) => id), ...deletes];
  const rows = await tx.query<PlanRow>(
    `${SELECTION} WHERE $1 OR plan.id = ANY ($2::text[]) ORDER BY plan.id FOR UPDATE OF plan`,
    [prune, named],
  );
  const used = await tx.query<{ plan_id: string }>(
    `SELECT DISTINCT plan_id FROM subscription_periods
      WHERE plan_id = ANY ($1::text[]) AND ended_at IS NULL AND period_end > ${timeOf('$2')}`,
    [rows.map(({ id }) => id), now],
  );
  const inUse = new Set(used.map(({ plan_id }) => plan_id));
  return new Map(
    rows.map((row) => [row.id, { ...versionFromRow(row), deleted: row.deleted, inUse: inUse.has(row.id) }]),
  );
}

async function writePlan(tx: Tx, { id, change, before, after }: PlanChange, actor: string): Promise<void> {
  if (change === 'unchanged') return;
  if (after === null) await tx.execute('UPDATE plans SET deleted_at = now() WHERE id = $1', [id]);
  else {
    await tx.execute('INSERT INTO plan_versions (plan_id, version, spec, created_by) VALUES ($1, $2, $3, $4)', [
      id,
      after.version,
      JSON.stringify(planToStored(after.plan)),
      actor,
    ]);
    await tx.execute(
      `INSERT INTO plans (id, current_version) VALUES ($1, $2)
       ON CONFLICT (id) DO UPDATE SET current_version = excluded.current_version, deleted_at = NULL`,
      [id, after.version],
    );
  }
  await insertChange(tx, {
    actor,
    action: after === null ? 'delete_plan' : 'put_plan',
    account: null,
    objectId: id,
    before: before && toPlanView(before),
    after: after && toPlanView(after),
  });
}

function versionFromRow({ id, current_version, spec, created_at }: PlanRow): PlanVersion {
  return { id, version: current_version, plan: planFromStored(spec), createdAt: created_at };
}
