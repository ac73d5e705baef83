import { z } from 'zod';
import { LIMIT_DEFAULTS, windowType } from '../messages/call.js';
import { instant, label, modelId, objectId, time, usdCap } from './scalars.js';

const countLimit = z.int().min(1).max(1_000_000_000);

/** A limit in its unit: a decimal string of USD, or a whole number of requests. */
const limited = <T extends z.ZodRawShape>(shape: T) =>
  z.discriminatedUnion('unit', [
    z.object({ ...shape, unit: z.literal('usd'), limit: usdCap }),
    z.object({ ...shape, unit: z.literal('requests'), limit: countLimit }),
  ]);

/**
 * A usage window. A plan has at most one window per type and unit. Absent label: the
 * specification's name of the type.
 */
const planWindow = limited({ type: windowType, label: label.optional() });
const modelAllotment = limited({ modelId });

/**
 * The limits and models of a plan. Every PUT that changes it creates a new version. Subscriptions
 * keep their version until their period ends.
 */
export const planSpec = z
  .object({
    name: label,
    tier: label,
    /** Null: every model. */
    models: z.array(modelId).max(500).nullable(),
    requestsPerMinute: z.int().min(1).max(1_000_000).default(LIMIT_DEFAULTS.requestsPerMinute),
    concurrency: z.int().min(1).max(100_000).default(LIMIT_DEFAULTS.concurrencyWithPlan),
    windows: z.array(planWindow).max(6).default([]),
    modelAllotments: z.array(modelAllotment).max(200).default([]),
    /** The cap of keys that are created without one. */
    defaultKeySpendCapUsd: usdCap.nullish(),
    maxActiveKeys: z.int().min(1).max(10_000).default(LIMIT_DEFAULTS.maxActiveKeys),
  })
  .superRefine((plan, context) => {
    refuseDuplicates(
      context,
      'windows',
      plan.windows.map(({ type, unit }) => `${type} in ${unit}`),
    );
    refuseDuplicates(
      context,
      'modelAllotments',
      plan.modelAllotments.map((allotment) => allotment.modelId),
    );
  });
export type PlanSpec = z.output<typeof planSpec>;

export const planView = z.object({
  id: objectId,
  /** Increases with each change. */
  version: z.int().min(1),
  name: z.string(),
  tier: z.string(),
  models: z.array(z.string()).nullable(),
  requestsPerMinute: z.int(),
  concurrency: z.int(),
  windows: z.array(
    z.object({
      type: windowType,
      unit: z.enum(['usd', 'requests']),
      limit: z.union([z.string(), z.int()]),
      label: z.string(),
    }),
  ),
  modelAllotments: z.array(
    z.object({ modelId: z.string(), unit: z.enum(['usd', 'requests']), limit: z.union([z.string(), z.int()]) }),
  ),
  defaultKeySpendCapUsd: z.string().nullable(),
  maxActiveKeys: z.int(),
  createdAt: time,
});
export type PlanView = z.infer<typeof planView>;

/** The fields of a PUT, including the read-only fields of the view, as for catalog objects. */
export const planPut = planSpec.safeExtend(planView.pick({ id: true, version: true, createdAt: true }).partial().shape);

/** One subscription period [start, end). A renewal is a new period. */
export const subscriptionSpec = z
  .object({ planId: objectId, periodStart: instant, periodEnd: instant, renews: z.boolean().default(false) })
  .refine(({ periodStart, periodEnd }) => Date.parse(periodEnd) > Date.parse(periodStart), {
    path: ['periodEnd'],
    message: 'must be after periodStart',
  });

export const subscriptionView = z.object({
  id: objectId,
  accountId: objectId,
  planId: objectId,
  planVersion: z.int(),
  periodStart: time,
  periodEnd: time,
  renews: z.boolean(),
  /** Whether the period is running. */
  active: z.boolean(),
});
export type SubscriptionView = z.infer<typeof subscriptionView>;

function refuseDuplicates(context: z.core.$RefinementCtx, path: string, names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) context.addIssue({ code: 'custom', path: [path], message: `${twice} is listed twice` });
}
