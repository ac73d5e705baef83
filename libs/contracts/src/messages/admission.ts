import { z } from 'zod';
import {
  packAdmissionBatch,
  packAdmissionBatchAnswer,
  unpackAdmissionBatch,
  unpackAdmissionBatchAnswer,
} from '../generated/positions.js';
import { cursor, managementRefusal, PAGE_LIMIT_MAX, slotView } from '../operator/index.js';
import { REFUSAL } from '../errors/refusal-ranks.js';
import { accountRecord, keyRecord, memberRecord } from './records.js';
import {
  accountTerms,
  askedExtras,
  ASKS_MAX,
  callBounds,
  holdFields,
  pricedVersion,
  windowType,
  windowUnit,
} from './call.js';
import { commandAuthor } from './access.js';
import { request } from './message.js';
import {
  bucket,
  count,
  digests,
  endpoint,
  epochMs,
  bucketEpoch,
  modelId,
  nanoUsd,
  nanoUsdPositive,
  objectId,
  requestId,
  traceparent,
} from './scalars.js';
import { balanceSnapshot } from './balance-snapshot.js';

/** Entries of each kind in one batch; a fuller event-loop turn is sent as several messages. */
export const BATCH_ENTRIES_MAX = 256;

const openEntry = z.object({ id: requestId, digests, traceparent });

const admitEntry = z.object({
  id: requestId,
  digests,
  endpoint,
  /** The model as the client named it; null only beside a `bodyRefusal`. */
  model: z.string().max(512).nullable(),
  bounds: callBounds.nullable(),
  /** What the edge found: the rank of a body that is too large or not acceptable. */
  bodyRefusal: z.union([z.literal(REFUSAL.request_entity_too_large), z.literal(REFUSAL.invalid_request)]).nullable(),
  /** An *open* answered what comes up to `rate_limited`; the minute is not counted again. */
  opened: z.boolean(),
  traceparent,
  /**
   * The different readings of the request among its sources. Absent: all read it as a call of the
   * standard class without anything by the piece.
   */
  asks: z.array(askedExtras).min(1).max(ASKS_MAX).optional(),
  /** No source can price the request, because of this field. */
  unpricedField: z.string().max(64).optional(),
  /** With `unpricedField`: the class, unit, type of tool or value that has no price. */
  unpricedName: z.string().max(64).optional(),
});
export type AdmitEntry = z.infer<typeof admitEntry>;

/**
 * The end of a call. A blind release (`hold` null) voids an admission whose answer never came or
 * came too late.
 */
export const releaseEntry = z.discriminatedUnion('blind', [
  z.object({
    blind: z.literal(false),
    id: requestId,
    hold: holdFields,
    tag: bucketEpoch,
    outcome: z.enum(['ok', 'void']),
    amountNanoUsd: nanoUsdPositive,
  }),
  z.object({ blind: z.literal(true), id: requestId, digests }),
]);
export type ReleaseEntry = z.infer<typeof releaseEntry>;

/**
 * Numbers that explain a refusal; its rank decides which there are. Amounts have the limit's unit.
 */
export const refusalFacts = z.object({
  limit: nanoUsd.optional(),
  used: nanoUsd.optional(),
  held: nanoUsd.optional(),
  worst: nanoUsd.optional(),
  least: nanoUsd.optional(),
  available: nanoUsd.optional(),
  unit: windowUnit.optional(),
  window: windowType.optional(),
  resetsAt: epochMs.optional(),
  retryAfterSeconds: count.optional(),
  allowedModels: z.array(z.string()).optional(),
  model: z.string().optional(),
  /** With `model_not_priced`: what the request asks for with it has no price. */
  field: z.string().optional(),
  /** With `field`: the class, unit, type of tool or value that has no price. */
  unpriced: z.string().optional(),
  /** Which of the three codes that share a rank; absent with every other rank. */
  state: z.enum(['key_inactive', 'key_expired', 'account_suspended']).optional(),
  /**
   * With `rate_limited` only: the minute is the playground's own, not that of the account's keys.
   */
  playground: z.literal(true).optional(),
});
export type RefusalFacts = z.infer<typeof refusalFacts>;

export const admissionFaultCode = z.enum(['lookup_failed', 'admission_error', 'catalog_error', 'usage_unavailable']);
export type AdmissionFaultCode = z.infer<typeof admissionFaultCode>;

export const refusedAnswer = z.object({
  kind: z.literal('refused'),
  id: requestId,
  /** A refusal rank (docs/behaviour.md#order-of-refusals). */
  row: z.int().min(REFUSAL.invalid_api_key).max(REFUSAL.monthly_spend_cap_exceeded),
  facts: refusalFacts,
});
const goneAnswer = z.object({ kind: z.literal('gone'), id: requestId });
const faultAnswer = z.object({
  kind: z.literal('fault'),
  id: requestId,
  code: admissionFaultCode,
  /**
   * The decision was begun and its answer lost: the call may hold something, and is to be released
   * blind.
   */
  mayHold: z.boolean().optional(),
});
const openedAnswer = z.object({
  kind: z.literal('opened'),
  id: requestId,
  account: objectId,
  bucket,
  token: bucketEpoch,
});
const admittedAnswer = z.object({
  kind: z.literal('admitted'),
  id: requestId,
  account: objectId,
  bucket,
  token: bucketEpoch,
  /** Null for endpoints that are not billed: no slot, no hold, no heartbeat, no release. */
  hold: holdFields.nullable(),
  price: pricedVersion.nullable(),
  /** Enabled sources that serve the endpoint, as the deciding catalog revision has them. */
  sources: z.array(objectId).min(1).max(64),
  /** A stored answer for a repeated id. */
  repeated: z.boolean(),
  /**
   * How many more calls like this one would have been admitted beside it, by slots and by what
   * their worst cases take of the wallet and of caps. Absent: not known, as in a repeated answer.
   */
  roomLeft: count.optional(),
});
export type AdmittedAnswer = z.infer<typeof admittedAnswer>;

export const batchAnswer = z.discriminatedUnion('kind', [
  admittedAnswer,
  openedAnswer,
  refusedAnswer,
  goneAnswer,
  faultAnswer,
]);
export type BatchAnswer = z.infer<typeof batchAnswer>;

export const admissionBatch = request({
  name: 'admission.batch',
  subject: 'admission.batch',
  version: 1,
  checkedInPlace: true,
  sentBy: ['edge-proxy'],
  servedBy: ['admission'],
  perReplica: true,
  answers: 'many',
  timeoutMs: 2_000,
  packed: {
    body: { pack: packAdmissionBatch, unpack: unpackAdmissionBatch },
    answer: { pack: packAdmissionBatchAnswer, unpack: unpackAdmissionBatchAnswer },
  },
  body: z.object({
    edge: objectId,
    opens: z.array(openEntry).max(BATCH_ENTRIES_MAX),
    admits: z.array(admitEntry).max(BATCH_ENTRIES_MAX),
    releases: z.array(releaseEntry).max(BATCH_ENTRIES_MAX),
  }),
  answer: z.object({
    replica: objectId,
    /** Redis time with the test clock's offset; the edge corrects its clock by it. */
    now: epochMs,
    answers: z.array(batchAnswer),
    /** Ids whose release is done with, whatever it did. */
    released: z.array(requestId),
  }),
});

const unauthorized = z.discriminatedUnion('kind', [
  refusedAnswer,
  z.object({ kind: z.literal('fault'), id: requestId, code: admissionFaultCode }),
]);

/**
 * For the model list: whether the key and its account may call, and what decides which models are
 * shown.
 */
export const admissionAuthorize = request({
  name: 'admission.authorize',
  subject: 'admission.authorize',
  version: 1,
  sentBy: ['edge-proxy'],
  servedBy: ['admission'],
  perReplica: true,
  answers: 'one',
  timeoutMs: 2_000,
  body: z.object({ id: requestId, digests }),
  answer: z.union([
    z.object({
      kind: z.literal('authorized'),
      account: objectId,
      key: objectId,
      allowedModels: z.array(modelId).nullable(),
      /** Models of the active plan: null all, empty none (also without a plan). */
      planModels: z.array(modelId).nullable(),
      walletAboveZero: z.boolean(),
    }),
    unauthorized,
  ]),
});

/**
 * For the usage endpoint, and by a playground key for the dashboard: whether the key and its
 * account may call, and the settled numbers of the state that decides.
 */
export const admissionUsage = request({
  name: 'admission.usage',
  subject: 'admission.usage',
  version: 1,
  sentBy: ['edge-proxy', 'dashboard'],
  servedBy: ['admission'],
  perReplica: true,
  answers: 'one',
  timeoutMs: 2_000,
  body: z.object({ id: requestId, digests }),
  answer: z.union([
    z.object({
      kind: z.literal('usage'),
      account: objectId,
      key: objectId,
      now: epochMs,
      terms: accountTerms,
      windows: z.array(
        z.object({
          type: windowType,
          unit: windowUnit,
          limit: nanoUsd,
          used: nanoUsd,
          label: z.string(),
          resetsAt: epochMs,
          /**
           * Of a session: false while none is open, and `resetsAt` is that of one that began now.
           */
          begun: z.boolean().optional(),
        }),
      ),
      /** Of the running subscription period. */
      allotments: z
        .array(z.object({ model: modelId, unit: windowUnit, limit: nanoUsd, used: nanoUsd }))
        .max(256)
        .default([]),
      /** Null until the wallet's first entry. */
      walletNanoUsd: nanoUsd.nullable(),
      keyCapNanoUsd: nanoUsdPositive.nullable(),
      allowedModels: z.array(modelId).nullable(),
    }),
    unauthorized,
  ]),
});

/** A change that is answered when admission has it (docs/protocol.md#r10). */
export const admissionApply = request({
  name: 'admission.apply',
  subject: 'admission.apply',
  version: 1,
  sentBy: ['billing', 'accounts'],
  servedBy: ['admission'],
  perReplica: false,
  answers: 'one',
  timeoutMs: 1_000,
  body: z.object({
    /** From billing, with the epoch of their ledger. */
    standing: z.object({ incarnation: objectId, accounts: z.array(balanceSnapshot).min(1).max(100) }).optional(),
    /** From accounts. */
    accounts: z.array(accountRecord).max(100).optional(),
    keys: z.array(keyRecord).max(100).optional(),
    members: z.array(memberRecord).max(100).optional(),
  }),
  answer: z.object({ applied: z.literal(true) }),
});

const operations = {
  version: 1,
  sentBy: ['dashboard'],
  servedBy: ['admission'],
  perReplica: false,
  answers: 'one',
} as const;

/** The holds of calls that have not ended, in the order of buckets and due times. */
export const admissionSlots = request({
  ...operations,
  name: 'admission.slots',
  subject: 'admission.slots',
  timeoutMs: 5_000,
  body: z.object({
    account: objectId.nullable(),
    /** Only the call of this id. */
    requestId: requestId.optional(),
    cursor: cursor.nullable(),
    limit: z.int().min(1).max(PAGE_LIMIT_MAX),
  }),
  answer: z.union([z.object({ slots: z.array(slotView), nextCursor: z.string().nullable() }), managementRefusal]),
});

/**
 * Takes a call's slot back now, for good: the slot is free when this is answered, and the call's
 * edge is told with its next heartbeat to end it. Its money stays held until its record comes (or
 * it expires). Repeating changes nothing.
 */
export const admissionReleaseSlot = request({
  ...operations,
  name: 'admission.release-slot',
  subject: 'admission.release-slot',
  timeoutMs: 5_000,
  body: z.object({ requestId, author: commandAuthor }),
  answer: z.union([z.object({ released: z.literal(true), account: objectId }), managementRefusal]),
});

/**
 * What running calls hold of an account, as the limit store has it; an account that it has not
 * loaded holds nothing.
 */
export const admissionHeld = request({
  ...operations,
  name: 'admission.held',
  subject: 'admission.held',
  timeoutMs: 2_000,
  body: z.object({ account: objectId }),
  answer: z.union([z.object({ walletNanoUsd: nanoUsdPositive, slots: count }), managementRefusal]),
});
