import { z } from 'zod';
import { APPLY_OBJECTS_MAX } from './apply.js';
import { pricesSpec } from './catalog.js';
import { instant, label, modelId, objectId, time, usdPositive } from './scalars.js';

/** Characters of an ID of a source or model. */
const ID_LENGTH_MAX = 193;

/** Other costs of a source, or other prices of a model. */
export const proposedChange = z.object({
  kind: z.enum(['source', 'model']),
  /** Of the source or model. */
  objectId: z.string().min(1).max(ID_LENGTH_MAX),
  modelId,
  /** When the lists were compared; null: none were known. */
  before: pricesSpec.nullable(),
  after: pricesSpec,
});
export type ProposedChange = z.infer<typeof proposedChange>;

/** What a provider charged for recent requests, and what its costs in force give for them. */
export const reportedDifference = z.object({
  sourceId: objectId,
  modelId,
  requests: z.int().min(1),
  computedUsd: usdPositive,
  reportedUsd: usdPositive,
});
export type ReportedDifference = z.infer<typeof reportedDifference>;

/** The result of a comparison of costs in force with public lists and provider-reported costs. */
export const priceProposalPut = z.object({
  /** Names of the lists, with their days where they have one. */
  lists: z.array(label).max(8),
  changes: z.array(proposedChange).max(APPLY_OBJECTS_MAX),
  reported: z.array(reportedDifference).max(APPLY_OBJECTS_MAX),
  /** The time of a schedule. One that was served, by whichever replica, changes nothing. */
  scheduledFor: instant.optional(),
});
export type PriceProposalPut = z.output<typeof priceProposalPut>;

/** The newest proposal. Nothing applies it but an operator. */
export const priceProposalView = priceProposalPut.omit({ scheduledFor: true }).extend({
  /** Of its content: the same differences on another day have the same ID. */
  id: z.string(),
  /** When it became what it is. */
  raisedAt: time,
  checkedAt: time,
  scheduledFor: time.nullable(),
});
export type PriceProposalView = z.infer<typeof priceProposalView>;

/**
 * `raised`: differs from the proposal before, which is the alert; `cleared`: there is no difference
 * any more; `unchanged`: as before; `served`: another replica served this time of the schedule.
 */
export const PRICE_PROPOSAL_OUTCOMES = ['raised', 'cleared', 'unchanged', 'served'] as const;
export const priceProposalSaved = priceProposalView.extend({ outcome: z.enum(PRICE_PROPOSAL_OUTCOMES) });
export type PriceProposalSaved = z.infer<typeof priceProposalSaved>;
