import { z } from 'zod';
import { customerFields } from '../messages/usage-record.js';
import { pageQuery } from '../operator/lists.js';
import { exportFormat, ledgerTransactionView, statementView, usageRecordView } from '../operator/money.js';
import { instant, modelId, month, objectId, time } from '../operator/scalars.js';

/** Filters of GET /api/accounts/{id}/usage-records; the list is newest first. */
export const usageRecordsQuery = pageQuery.extend({
  from: instant.optional(),
  to: instant.optional(),
  keyId: objectId.optional(),
  memberId: objectId.optional(),
  modelId: modelId.optional(),
  outcome: usageRecordView.shape.outcome.optional(),
});

/** A usage record with readable names, without the fields and costs that customers must not see. */
export const pageUsageRecord = usageRecordView.pick(customerFields).extend({
  attempts: z.array(usageRecordView.shape.attempts.element.omit({ reportedCostUsd: true })),
  keyName: z.string(),
  /** Null: the member was deleted. */
  memberEmail: z.string().nullable(),
});
export type PageUsageRecord = z.infer<typeof pageUsageRecord>;
export const pageUsageRecords = z.object({ data: z.array(pageUsageRecord), next_cursor: z.string().nullable() });
export type PageUsageRecords = z.infer<typeof pageUsageRecords>;

/** GET …/usage-records/{requestId} of an admitted call. */
export const usageRecordFound = pageUsageRecord.extend({ transactions: z.array(ledgerTransactionView) });
export type FoundUsageRecord = z.infer<typeof usageRecordFound>;
/** Response for the ID of a refused call, which has no record. */
export const refusedCall = z.object({ requestId: z.string(), refused: z.object({ code: z.string(), at: time }) });
export type RefusedCall = z.infer<typeof refusedCall>;
/** The two forms differ by the field `refused`. */
export const usageLookup = z.union([usageRecordFound, refusedCall]);
export type UsageLookup = z.infer<typeof usageLookup>;

export const exportQuery = z.object({
  format: exportFormat.default('csv'),
  from: instant.optional(),
  to: instant.optional(),
  /** ID of the last line of the part that the client already has. */
  cursor: z.string().min(1).max(200).optional(),
});
export type ExportQuery = z.input<typeof exportQuery>;

export const pageStatementQuery = z.object({ month });

const { byKey, byMember } = statementView.shape;
/** Readable name: the name of a key, or the address of a member, also if it was deleted. */
const label = z.string();

/** A statement with readable names. */
export const pageStatement = statementView.extend({
  byKey: z.array(byKey.element.extend({ label })),
  byMember: z.array(byMember.element.extend({ label })),
});
export type PageStatement = z.infer<typeof pageStatement>;
