import { isDeepStrictEqual } from 'node:util';
import {
  refuse,
  type ManagementRefusal,
  type PlanSpec as WirePlanSpec,
  type PlanView,
} from '@gateway/contracts/operator';
import { formatUsd, MoneyFormatError, parseUsd, type WindowType, type WindowUnit } from '@gateway/metering';
import type { PlanSpec } from './terms.js';

/** A version of a plan, as it is stored for ever. */
export interface PlanVersion {
  readonly id: string;
  readonly version: number;
  readonly plan: PlanSpec;
  /** When the plan's first version was made. */
  readonly createdAt: Date;
}

/** Names of windows that a plan leaves without one (behaviour §5). */
const LABELS: Record<WindowType, string> = { session_5h: 'Session (5 hours)', weekly: 'Weekly', monthly: 'Monthly' };

/** A plan in the ledger's figures; refused when an amount lies beyond what the wire carries. */
export function planFromWire(spec: WirePlanSpec): PlanSpec | ManagementRefusal {
  const figures = new Figures();
  const plan: PlanSpec = {
    name: spec.name,
    tier: spec.tier,
    models: spec.models,
    requestsPerMinute: spec.requestsPerMinute,
    concurrency: spec.concurrency,
    windows: spec.windows.map(({ type, unit, limit, label }, index) => ({
      type,
      unit,
      limit: figures.read(limit, `windows[${index}].limit`),
      label: label ?? LABELS[type],
    })),
    allotments: spec.modelAllotments.map(({ modelId, unit, limit }, index) => ({
      model: modelId,
      unit,
      limit: figures.read(limit, `modelAllotments[${index}].limit`),
    })),
    defaultKeyCapNanoUsd:
      spec.defaultKeySpendCapUsd == null ? null : figures.read(spec.defaultKeySpendCapUsd, 'defaultKeySpendCapUsd'),
    activeKeysMax: spec.maxActiveKeys,
  };
  return figures.beyond === null
    ? plan
    : refuse('invalid_request', `${figures.beyond} lies beyond 9,000,000 USD`, figures.beyond);
}

/** A plan as operators see it: what is shown can be put again and changes nothing. */
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

/** Reads limits and remembers the first that is too large. */
class Figures {
  beyond: string | null = null;

  /** A decimal text is USD and becomes nano-USD; a number is a count of requests. */
  read(limit: string | number, param: string): bigint {
    if (typeof limit === 'number') return BigInt(limit);
    try {
      return parseUsd(limit);
    } catch (error) {
      if (!(error instanceof MoneyFormatError)) throw error;
      this.beyond ??= param;
      return 0n;
    }
  }
}

function shown(unit: WindowUnit, limit: bigint): string | number {
  return unit === 'usd' ? formatUsd(limit) : Number(limit);
}
