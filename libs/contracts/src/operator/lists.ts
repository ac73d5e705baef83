import { z } from 'zod';
import { refuse, type ManagementRefusal } from './errors.js';
import { objectId, time } from './scalars.js';

/** Objects of one page, and the most of them. */
export const PAGE_LIMIT_DEFAULT = 50;
export const PAGE_LIMIT_MAX = 200;

/** Opaque: what a list answered as `next_cursor`. */
export const cursor = z.string().min(1).max(1_000);

/** A cursor that this list has not answered: of another list, or made up. */
export function refuseCursor(): ManagementRefusal {
  return refuse('invalid_request', 'cursor: not one that this list has answered as next_cursor', 'cursor');
}

/** `?cursor=&limit=` of every list. */
export const pageQuery = z.object({
  cursor: cursor.optional(),
  limit: z.coerce.number().pipe(z.int().min(1).max(PAGE_LIMIT_MAX)).default(PAGE_LIMIT_DEFAULT),
});
export type PageQuery = z.output<typeof pageQuery>;

/** One page of a list; `next_cursor` null on the last one. */
export function pageOf<T extends z.ZodType>(entry: T) {
  return z.object({ data: z.array(entry), next_cursor: z.string().nullable() });
}

/**
 * `change`; `access`: a sign-in, a sign-out, a file that was read, a source that was tested;
 * `refused`: refused attempts, counted by minute.
 */
export const AUDIT_KINDS = ['change', 'access', 'refused'] as const;
export const auditKind = z.enum(AUDIT_KINDS);
export type AuditKind = z.infer<typeof auditKind>;

/** Who did what. Holds no secrets, digests or credentials. */
export const auditEntryView = z.object({
  /** `<service>.<number>`; unique, growing within a service. */
  id: z.string().max(100),
  at: time,
  /** `operator:<name>`, or what else asked. */
  actor: z.string(),
  action: z.string(),
  accountId: objectId.nullable(),
  objectId: z.string(),
  before: z.record(z.string(), z.unknown()).nullable(),
  after: z.record(z.string(), z.unknown()).nullable(),
  /**
   * Where the request came from. `client`: an IPv4 address, or the /64 of an IPv6 address; `agent`:
   * the user agent. Both are null once they are erased. Null as a whole: a service acted by itself,
   * without a request.
   */
  origin: z.object({ client: z.string().nullable(), agent: z.string().nullable(), requestId: z.string() }).nullable(),
});
export type AuditEntryView = z.infer<typeof auditEntryView>;
