import type { CommandAuthor } from '@gateway/contracts/messages';
import type { ManagementRefusal } from '@gateway/contracts/operator';
import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import type { WindowType, WindowUnit } from '@gateway/metering';
import { insertChange } from '../ledger/changes-store.js';
import { timeSql } from '../ledger/sql.js';
import { decidePlans, type PlanState, type PlanChange, type PlansInput } from './decide-rules.js';
import { type PlanSpec, type PlanVersion, toPlanView } from './rules.js';

export interface PlansRequest extends PlansInput {
  readonly author: CommandAuthor;
  /** Determines which periods have ended, epoch milliseconds. */
  readonly now: number;
  /** Applies the changes and rolls them back. */
  readonly dryRun: boolean;
}

export type PlanStore = ReturnType<typeof createPlanStore>;

export function createPlanStore(pool: Pool) {
  const queries = onPool(pool);
  return {
    async plan(id: string): Promise<PlanVersion | null> {
      const row = await queries.one<PlanRow>(`${SELECTION} WHERE plan.id = $1 AND plan.deleted_at IS NULL`, [id]);
      return row === null ? null : versionFromRow(row);
    },
    /** Ordered by ID, after the given one. */
    async plans(after: string | null, limit: number): Promise<PlanVersion[]> {
      const rows = await queries.query<PlanRow>(
        `${SELECTION} WHERE plan.deleted_at IS NULL AND ($1::text IS NULL OR plan.id > $1) ORDER BY plan.id LIMIT $2`,
        [after, limit],
      );
      return rows.map(versionFromRow);
    },
    /**
     * One database transaction: locks all plans, decides, writes versions and audit, commits. A
     * refusal writes nothing.
     */
    async changePlans(request: PlansRequest): Promise<PlanChange[] | ManagementRefusal> {
      try {
        return await inTransaction(pool, (tx) => changePlans(tx, request));
      } catch (error) {
        if (error instanceof DryRunRollback) return error.changes;
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

/** Ends a dry run: the transaction is rolled back, and the caller gets its changes. */
class DryRunRollback extends Error {
  constructor(readonly changes: PlanChange[]) {
    super('a dry run is rolled back');
  }
}

/**
 * Changes plans under one lock for all plans. Plans are few and are changed by operators, so the
 * lock costs nothing.
 */
async function changePlans(tx: Tx, request: PlansRequest): Promise<PlanChange[] | ManagementRefusal> {
  const begun = await tx.one<{ now: Date }>(
    `SELECT now() FROM pg_advisory_xact_lock(hashtextextended('change plans ' || current_schema(), 0))`,
  );
  const known = await readStates(tx, request);
  const decided = decidePlans(request, known, begun?.now ?? new Date(0));
  if (!Array.isArray(decided)) return decided;
  for (const change of decided) {
    await writePlan(tx, change, request.author);
    if (change.change === 'changed') await enqueueRefresh(tx, change.id, request.now);
  }
  if (request.dryRun) throw new DryRunRollback(decided);
  return decided;
}

/**
 * Reads and locks the named plans, or all plans for a prune. The lock prevents that a concurrent
 * transaction adds a period with one of them.
 */
async function readStates(tx: Tx, { puts, deletes, prune, now }: PlansRequest): Promise<Map<string, PlanState>> {
  const named = [...puts.map(({ id }) => id), ...deletes];
  const rows = await tx.query<PlanRow>(
    `${SELECTION} WHERE $1 OR plan.id = ANY ($2::text[]) ORDER BY plan.id FOR UPDATE OF plan`,
    [prune, named],
  );
  const used = await tx.query<{ plan_id: string }>(
    `SELECT DISTINCT plan_id FROM subscription_periods
      WHERE plan_id = ANY ($1::text[]) AND ended_at IS NULL AND period_end > ${timeSql('$2')}`,
    [rows.map(({ id }) => id), now],
  );
  const inUse = new Set(used.map(({ plan_id }) => plan_id));
  return new Map(
    rows.map((row) => [row.id, { ...versionFromRow(row), deleted: row.deleted, inUse: inUse.has(row.id) }]),
  );
}

async function writePlan(tx: Tx, { id, change, before, after }: PlanChange, author: CommandAuthor): Promise<void> {
  if (change === 'unchanged') return;
  if (after === null) await tx.execute('UPDATE plans SET deleted_at = now() WHERE id = $1', [id]);
  else {
    await tx.execute('INSERT INTO plan_versions (plan_id, version, spec, created_by) VALUES ($1, $2, $3, $4)', [
      id,
      after.version,
      JSON.stringify(planToStored(after.plan)),
      author.actor,
    ]);
    await tx.execute(
      `INSERT INTO plans (id, current_version) VALUES ($1, $2)
       ON CONFLICT (id) DO UPDATE SET current_version = excluded.current_version, deleted_at = NULL`,
      [id, after.version],
    );
  }
  await insertChange(tx, {
    author,
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

/** A plan version in a jsonb column. Limits are safe integers, so JSON numbers are exact. */
export interface StoredPlan extends Omit<PlanSpec, 'windows' | 'allotments' | 'defaultKeyCapNanoUsd'> {
  readonly windows: readonly { type: WindowType; unit: WindowUnit; limit: number; label: string }[];
  readonly allotments: readonly { model: string; unit: WindowUnit; limit: number }[];
  readonly defaultKeyCapNanoUsd: number | null;
}

export function planFromStored(spec: StoredPlan): PlanSpec {
  return {
    ...spec,
    windows: spec.windows.map((window) => ({ ...window, limit: BigInt(window.limit) })),
    allotments: spec.allotments.map((allotment) => ({ ...allotment, limit: BigInt(allotment.limit) })),
    defaultKeyCapNanoUsd: spec.defaultKeyCapNanoUsd === null ? null : BigInt(spec.defaultKeyCapNanoUsd),
  };
}

export function planToStored(plan: PlanSpec): StoredPlan {
  return {
    ...plan,
    windows: plan.windows.map((window) => ({ ...window, limit: Number(window.limit) })),
    allotments: plan.allotments.map((allotment) => ({ ...allotment, limit: Number(allotment.limit) })),
    defaultKeyCapNanoUsd: plan.defaultKeyCapNanoUsd === null ? null : Number(plan.defaultKeyCapNanoUsd),
  };
}

/**
 * Returns the version for new periods and locks it until the end of the transaction, so that the
 * plan cannot be deleted while a period is added. Null: the plan does not exist.
 */
export async function lockCurrentVersion(tx: Tx, planId: string): Promise<number | null> {
  const row = await tx.one<{ current_version: number }>(
    'SELECT current_version FROM plans WHERE id = $1 AND deleted_at IS NULL FOR SHARE',
    [planId],
    { name: 'current_version' },
  );
  return row?.current_version ?? null;
}

/** Schedules an update of the plan's upcoming periods, in the transaction of the new version. */
export async function enqueueRefresh(tx: Tx, planId: string, now: number): Promise<void> {
  await tx.execute(
    `INSERT INTO plan_refreshes (plan_id, after_start, after_account) VALUES ($1, ${timeSql('$2')}, '')
     ON CONFLICT (plan_id) DO UPDATE SET after_start = excluded.after_start, after_account = ''`,
    [planId, now],
  );
}
