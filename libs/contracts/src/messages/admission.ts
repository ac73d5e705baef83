import { z } from 'zod';
import {
  packAdmissionBatch,
  packAdmissionBatchAnswer,
  unpackAdmissionBatch,
  unpackAdmissionBatchAnswer,
} from '../generated/positions.js';
import { cursor, managementRefusal, PAGE_LIMIT_MAX, slotView } from '../operator/index.js';
import { ADMISSION_REFUSAL_CODES, BODY_REFUSAL_CODES } from '../errors/refusals.js';
import { accountRecord, keyRecord, memberRecord } from './records.js';
import {
  accountTerms,
  requestedExtras,
  REQUESTED_EXTRAS_MAX,
  callBounds,
  holdFields,
  pricedVersion,
  refusalFacts,
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
  ledgerEpoch,
  objectId,
  requestId,
  traceparent,
} from './scalars.js';
import { balanceSnapshot } from './balance-snapshot.js';

/** Maximum entries of each kind in a batch. A larger event-loop tick is several messages. */
export const BATCH_ENTRIES_MAX = 256;

const openEntry = z.object({ id: requestId, digests, traceparent });

const admitEntry = z.object({
  id: requestId,
  digests,
  endpoint,
  /** The model name that the client sent. Null only with a `bodyRefusal`. */
  model: z.string().max(512).nullable(),
  bounds: callBounds.nullable(),
  /** The refusal if the edge found the body too large or invalid. */
  bodyRefusal: z.literal(BODY_REFUSAL_CODES).nullable(),
  /**
   * Whether an *open* entry has already checked the refusals up to `rate_limited`. The request is
   * then not counted again.
   */
  opened: z.boolean(),
  traceparent,
  /**
   * The different readings of the request among its sources. Absent: all sources read it as a
   * request of the standard class without units.
   */
  requestedExtras: z.array(requestedExtras).min(1).max(REQUESTED_EXTRAS_MAX).optional(),
  /** The request field because of which no source can price the request. */
  unpricedField: z.string().max(64).optional(),
  /** With `unpricedField`: the class, unit, tool type or value without a price. */
  unpricedName: z.string().max(64).optional(),
});
export type AdmitEntry = z.infer<typeof admitEntry>;

/**
 * The end of a call. A blind release (no `hold`) voids an admission with a lost or late response.
 */
export const releaseEntry = z.discriminatedUnion('blind', [
  z.object({
    blind: z.literal(false),
    id: requestId,
    hold: holdFields,
    callEpoch: bucketEpoch,
    outcome: z.enum(['ok', 'void']),
    amountNanoUsd: nanoUsdPositive,
  }),
  z.object({ blind: z.literal(true), id: requestId, digests }),
]);
export type ReleaseEntry = z.infer<typeof releaseEntry>;

export const admissionFaultCode = z.enum(['lookup_failed', 'admission_error', 'catalog_error', 'usage_unavailable']);
export type AdmissionFaultCode = z.infer<typeof admissionFaultCode>;

export const refusedAnswer = z.object({
  kind: z.literal('refused'),
  id: requestId,
  /** Literals and no enum, so that the packed form has the code itself and no position. */
  code: z.literal(ADMISSION_REFUSAL_CODES),
  facts: refusalFacts,
});
const goneAnswer = z.object({ kind: z.literal('gone'), id: requestId });
const faultAnswer = z.object({
  kind: z.literal('fault'),
  id: requestId,
  code: admissionFaultCode,
  /**
   * Whether the decision may have made a hold before its response was lost. The edge must then send
   * a blind release.
   */
  mayHold: z.boolean().optional(),
});
const openedAnswer = z.object({
  kind: z.literal('opened'),
  id: requestId,
  account: objectId,
  bucket,
  epoch: bucketEpoch,
});
const admittedAnswer = z.object({
  kind: z.literal('admitted'),
  id: requestId,
  account: objectId,
  bucket,
  epoch: bucketEpoch,
  /** Null for endpoints that are not billed: they have no slot, hold, heartbeat or release. */
  hold: holdFields.nullable(),
  price: pricedVersion.nullable(),
  /** Enabled sources that serve the endpoint, in the catalog revision that the decision used. */
  sources: z.array(objectId).min(1).max(64),
  /** Whether this is the stored response of a repeated ID. */
  repeated: z.boolean(),
  /**
   * How many more calls like this one would be admitted concurrently, by slots and by the worst
   * case against wallet and caps. Absent: unknown, as in a repeated response.
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
    /** Redis time plus the test clock's offset. The edge corrects its clock by it. */
    now: epochMs,
    answers: z.array(batchAnswer),
    /** IDs whose release is processed, with or without an effect. */
    released: z.array(requestId),
  }),
});

const unauthorized = z.discriminatedUnion('kind', [
  refusedAnswer,
  z.object({ kind: z.literal('fault'), id: requestId, code: admissionFaultCode }),
]);

/**
 * Authorizes a model list: whether the key and its account may send requests, and which models are
 * shown.
 */
export const admissionAuthorize = request({
  name: 'admission.authorize',
  sentBy: ['edge-proxy'],
  servedBy: ['admission'],
  perReplica: true,
  timeoutMs: 2_000,
  body: z.object({ id: requestId, digests }),
  answer: z.union([
    z.object({
      kind: z.literal('authorized'),
      account: objectId,
      key: objectId,
      allowedModels: z.array(modelId).nullable(),
      /** Models of the active plan. Null: all; empty: none, also without a plan. */
      planModels: z.array(modelId).nullable(),
      walletAboveZero: z.boolean(),
    }),
    unauthorized,
  ]),
});

/**
 * Authorizes a usage request and returns the settled usage from the limit store. The edge sends it
 * for the usage endpoint, and the dashboard sends it with a playground key.
 */
export const admissionUsage = request({
  name: 'admission.usage',
  sentBy: ['edge-proxy', 'dashboard'],
  servedBy: ['admission'],
  perReplica: true,
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
           * For a session window: false if no session is open. `resetsAt` is then the reset time of
           * a session that begins now.
           */
          begun: z.boolean().optional(),
        }),
      ),
      /** Allotments of the running subscription period. */
      allotments: z.array(z.object({ model: modelId, unit: windowUnit, limit: nanoUsd, used: nanoUsd })).max(256),
      /** Null until the wallet's first entry. */
      walletNanoUsd: nanoUsd.nullable(),
      keyCapNanoUsd: nanoUsdPositive.nullable(),
      allowedModels: z.array(modelId).nullable(),
    }),
    unauthorized,
  ]),
});

/** Sends a change to admission and waits until admission has applied it (docs/protocol.md#r10). */
export const admissionApply = request({
  name: 'admission.apply',
  sentBy: ['billing', 'accounts'],
  servedBy: ['admission'],
  timeoutMs: 1_000,
  body: z.object({
    /** From billing, with the ledger epoch. */
    snapshots: z.object({ ledgerEpoch, accounts: z.array(balanceSnapshot).min(1).max(100) }).optional(),
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

/** Lists the holds of calls that have not ended, by bucket and due time. */
export const admissionSlots = request({
  ...operations,
  name: 'admission.slots',
  timeoutMs: 5_000,
  body: z.object({
    account: objectId.nullable(),
    /** Returns only the call with this ID. */
    requestId: requestId.optional(),
    cursor: cursor.nullable(),
    limit: z.int().min(1).max(PAGE_LIMIT_MAX),
  }),
  answer: z.union([z.object({ slots: z.array(slotView), nextCursor: z.string().nullable() }), managementRefusal]),
});

/**
 * Releases a call's slot permanently. The slot is free when admission responds, and the next
 * heartbeat reply makes the edge end the call. The amount stays held until the usage record arrives
 * or the hold expires. Repeating it changes nothing.
 */
export const admissionReleaseSlot = request({
  ...operations,
  name: 'admission.release-slot',
  timeoutMs: 5_000,
  body: z.object({ requestId, author: commandAuthor }),
  answer: z.union([z.object({ released: z.literal(true), account: objectId }), managementRefusal]),
});

/**
 * Returns the amount and slots that running calls hold of an account, from the limit store. An
 * account that is not loaded holds nothing.
 */
export const admissionHeld = request({
  ...operations,
  name: 'admission.held',
  timeoutMs: 2_000,
  body: z.object({ account: objectId }),
  answer: z.union([z.object({ walletNanoUsd: nanoUsdPositive, slots: count }), managementRefusal]),
});
