import { z } from 'zod';
import { APPLY_OBJECTS_MAX } from './apply.js';
import { pricesSpec } from './catalog.js';
import { instant, label, modelId, objectId, time, usdPositive } from './scalars.js';

/** Proposed costs of a source or prices of a model. */
export const proposedChange = z.object({
  kind: z.enum(['source', 'model']),
  /** ID of the source or model. */
  objectId: z.union([objectId, modelId]),
  modelId,
  /** The values when the lists were compared. Null: unknown. */
  before: pricesSpec.nullable(),
  after: pricesSpec,
});
export type ProposedChange = z.infer<typeof proposedChange>;

/** A provider's charges for recent requests, and the charges computed from its costs in force. */
export const reportedDifference = z.object({
  sourceId: objectId,
  modelId,
  requests: z.int().min(1),
  computedUsd: usdPositive,
  reportedUsd: usdPositive,
});
export type ReportedDifference = z.infer<typeof reportedDifference>;

/** Result of comparing the costs in force with public lists and provider-reported costs. */
export const priceProposalPut = z.object({
  /** Names of the lists, with their dates if known. */
  lists: z.array(label).max(8),
  changes: z.array(proposedChange).max(APPLY_OBJECTS_MAX),
  reported: z.array(reportedDifference).max(APPLY_OBJECTS_MAX),
  /** The scheduled time. If any replica has already handled this time, nothing changes. */
  scheduledFor: instant.optional(),
});
export type PriceProposalPut = z.output<typeof priceProposalPut>;

/** The newest proposal. Only an operator can apply it. */
export const priceProposalView = priceProposalPut.omit({ scheduledFor: true }).extend({
  /** Derived from the content: equal differences on another day have the same ID. */
  id: z.string(),
  /** When the content last changed. */
  raisedAt: time,
  checkedAt: time,
  scheduledFor: time.nullable(),
});
export type PriceProposalView = z.infer<typeof priceProposalView>;

/**
 * Outcomes of a proposal. `raised`: it differs from the previous one, which raises an alert.
 * `cleared`: there are no differences any more. `unchanged`: equal to the previous one. `served`:
 * another replica handled this time of the schedule.
 */
export const PRICE_PROPOSAL_OUTCOMES = ['raised', 'cleared', 'unchanged', 'served'] as const;
export const priceProposalSaved = priceProposalView.extend({ outcome: z.enum(PRICE_PROPOSAL_OUTCOMES) });
export type PriceProposalSaved = z.infer<typeof priceProposalSaved>;
