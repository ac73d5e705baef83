import type { WindowType, WindowUnit } from '@gateway/metering';
import type { Tx } from '@gateway/postgres';
import type { PlanSpec } from '../subscriptions/terms-rules.js';

/** A plan version as jsonb: limits are safe integers, so JSON numbers hold them exactly. */
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
 * The version that new periods get, kept from changes until the end of the transaction: a plan cannot be deleted while a period
 * is put on it. Null: there is no such plan.
 */
export async function currentVersion(tx: Tx, planId: string): Promise<number | null> {
  const row = await tx.one<{ current_version: number }>(
    'SELECT current_version FROM plans WHERE id = $1 AND deleted_at IS NULL FOR SHARE',
    [planId],
    { name: 'current_version' },
  );
  return row?.current_version ?? null;
}
