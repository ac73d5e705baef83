import { formatUsd, type NanoUsd, parseUsd, type WindowType, type WindowUnit } from '@gateway/metering';
import { isDeepStrictEqual } from 'node:util';
import type { PlanView, PlanSpec as WirePlanSpec } from '@gateway/contracts/operator';

/** The content of a plan version; immutable once written. Each limit is in its `unit`. */
export interface PlanSpec {
  readonly name: string;
  readonly tier: string;
  /** Null: all models. */
  readonly models: readonly string[] | null;
  readonly requestsPerMinute: number;
  readonly concurrency: number;
  readonly windows: readonly { type: WindowType; unit: WindowUnit; limit: bigint; label: string }[];
  readonly allotments: readonly { model: string; unit: WindowUnit; limit: bigint }[];
  readonly defaultKeyCapNanoUsd: NanoUsd | null;
  readonly activeKeysMax: number;
}

/** A version of a plan; stored permanently. */
export interface PlanVersion {
  readonly id: string;
  readonly version: number;
  readonly plan: PlanSpec;
  /** When the plan's first version was created. */
  readonly createdAt: Date;
}

/** Default labels of windows (docs/behaviour.md#usage). */
const LABELS: Record<WindowType, string> = { session_5h: 'Session (5 hours)', weekly: 'Weekly', monthly: 'Monthly' };

/** Converts a plan to the ledger's units. The message schema has checked the amounts. */
export function planFromWire(spec: WirePlanSpec): PlanSpec {
  return {
    name: spec.name,
    tier: spec.tier,
    models: spec.models,
    requestsPerMinute: spec.requestsPerMinute,
    concurrency: spec.concurrency,
    windows: spec.windows.map(({ type, unit, limit, label }) => ({
      type,
      unit,
      limit: limitOf(limit),
      label: label ?? LABELS[type],
    })),
    allotments: spec.modelAllotments.map(({ modelId, unit, limit }) => ({
      model: modelId,
      unit,
      limit: limitOf(limit),
    })),
    defaultKeyCapNanoUsd: spec.defaultKeySpendCapUsd == null ? null : limitOf(spec.defaultKeySpendCapUsd),
    activeKeysMax: spec.maxActiveKeys,
  };
}

/** Converts a plan to the operators' view. Putting the view again changes nothing. */
export function toPlanView({ id, version, plan, createdAt }: PlanVersion): PlanView {
  return {
    id,
    version,
    name: plan.name,
    tier: plan.tier,
    models: plan.models === null ? null : [...plan.models],
    requestsPerMinute: plan.requestsPerMinute,
    concurrency: plan.concurrency,
    windows: plan.windows.map(({ type, unit, limit, label }) => ({ type, unit, limit: shown(unit, limit), label })),
    modelAllotments: plan.allotments.map(({ model, unit, limit }) => ({
      modelId: model,
      unit,
      limit: shown(unit, limit),
    })),
    defaultKeySpendCapUsd: plan.defaultKeyCapNanoUsd === null ? null : formatUsd(plan.defaultKeyCapNanoUsd),
    maxActiveKeys: plan.activeKeysMax,
    createdAt: createdAt.toISOString(),
  };
}

export function isSamePlan(one: PlanSpec, other: PlanSpec): boolean {
  return isDeepStrictEqual(one, other);
}

/** Converts a limit: a decimal text is USD and becomes nano-USD; a number counts requests. */
function limitOf(limit: string | number): bigint {
  return typeof limit === 'number' ? BigInt(limit) : parseUsd(limit);
}

function shown(unit: WindowUnit, limit: bigint): string | number {
  return unit === 'usd' ? formatUsd(limit) : Number(limit);
}
