import { z } from 'zod';
import { refuse, type ManagementRefusal } from './errors.js';
import { objectId, time } from './scalars.js';

/** Default and maximum number of objects on one page. */
export const PAGE_LIMIT_DEFAULT = 50;
export const PAGE_LIMIT_MAX = 200;

/** Opaque value of `next_cursor`. */
export const cursor = z.string().min(1).max(1_000);

/** Refuses a cursor that this list did not return: of another list, or made up. */
export function refuseCursor(): ManagementRefusal {
  return refuse('invalid_request', 'cursor: not a next_cursor value of this list', 'cursor');
}

/** `?cursor=&limit=` of all lists. */
export const pageQuery = z.object({
  cursor: cursor.optional(),
  limit: z.coerce.number().int().min(1).max(PAGE_LIMIT_MAX).default(PAGE_LIMIT_DEFAULT),
});
export type PageQuery = z.output<typeof pageQuery>;

/** Creates the schema of a list page. `next_cursor` is null on the last page. */
export function createPageSchema<T extends z.ZodType>(entry: T) {
  return z.object({ data: z.array(entry), next_cursor: z.string().nullable() });
}

/**
 * Kinds of audit entries. `access`: a sign-in, a sign-out, an exported file or a source test.
 * `refused`: refused attempts, counted per minute.
 */
export const AUDIT_KINDS = ['change', 'access', 'refused'] as const;
export const auditKind = z.enum(AUDIT_KINDS);
export type AuditKind = z.infer<typeof auditKind>;

/** An entry of the audit log, without secrets, digests and credentials. */
export const auditEntryView = z.object({
  /** `<service>.<number>`: unique, and increasing within a service. */
  id: z.string().max(100),
  at: time,
  /** `operator:<name>`, or another actor. */
  actor: z.string(),
  action: z.string(),
  accountId: objectId.nullable(),
  objectId: z.string(),
  before: z.record(z.string(), z.unknown()).nullable(),
  after: z.record(z.string(), z.unknown()).nullable(),
  /**
   * `client`: an IPv4 address, the /64 of an IPv6 address, or `other` for refused attempts above a
   * minute's bound, counted together. `agent`: the user agent; null if there is none. Both are null
   * after they were erased. The origin is null if a service acted without a request.
   */
  origin: z.object({ client: z.string().nullable(), agent: z.string().nullable(), requestId: z.string() }).nullable(),
});
export type AuditEntryView = z.infer<typeof auditEntryView>;
