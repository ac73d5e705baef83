import { z } from 'zod';
import { request } from './message.js';
import { count, epochMs, objectId } from './scalars.js';

/** Number of characters that are kept of a user agent. */
export const AGENT_CHARS_MAX = 200;
/** Maximum number of entries in one message. */
export const ACCESS_ENTRIES_MAX = 400;

/**
 * Where a request comes from: an IPv4 address, or the /64 of an IPv6 address. Attempts are counted
 * per client.
 */
export const client = z.string().min(1).max(64);

/** The origin of a request in the audit log. `agent` is the client's user agent. */
export const requestOrigin = z.object({
  client,
  agent: z.string().min(1).max(AGENT_CHARS_MAX).nullable(),
  requestId: z.string().min(1).max(64),
});
export type RequestOrigin = z.infer<typeof requestOrigin>;

/** Author and origin of a command. Every command has this field, and its audit entry records it. */
export const commandAuthor = z.object({
  /** `operator:<name>`, `user:<id>`, or `stranger` for an unauthenticated client. */
  actor: z.string().min(1).max(200),
  origin: requestOrigin,
});
export type CommandAuthor = z.infer<typeof commandAuthor>;

/** Author of an audit entry. `origin` is null if a service acts without a request. */
export interface EntryAuthor {
  readonly actor: string;
  readonly origin: RequestOrigin | null;
}

/** Too many attempts by this client, on this address, or by this account. */
export const throttled = z.object({ kind: z.literal('throttled'), retryAfterSeconds: z.int().min(1).max(86_400) });

/** Audit actions of permission uses that change nothing. */
export const ACCESS_ACTIONS = ['operator_sign_in', 'operator_sign_out', 'export', 'test_source'] as const;
/** Audit actions of changes outside the databases. The service that makes one reports it. */
export const REPORTED_CHANGES = ['end_call'] as const;
/** Audit actions of refused attempts. They are counted per minute. */
export const REFUSED_ACTIONS = ['sign_in_refused', 'operator_token_refused', 'access_refused'] as const;
export type AccessAction = (typeof ACCESS_ACTIONS)[number];
export type ReportedChange = (typeof REPORTED_CHANGES)[number];
export type RefusedAttemptAction = (typeof REFUSED_ACTIONS)[number];

const about = {
  /** The author. For counted attempts: the author of the first one. */
  ...commandAuthor.shape,
  account: objectId.nullable(),
  objectId: z.string().min(1).max(200),
};

/**
 * Adds audit entries that no service writes together with a change: permission uses, refused
 * attempts and calls that an operator ends. The sender never repeats an entry.
 */
export const accountsRecordAccess = request({
  name: 'accounts.record-access',
  sentBy: ['dashboard'],
  servedBy: ['accounts'],
  timeoutMs: 5_000,
  body: z.object({
    entries: z
      .array(
        z.discriminatedUnion('kind', [
          z.object({ kind: z.literal('access'), action: z.enum(ACCESS_ACTIONS), ...about }),
          z.object({ kind: z.literal('change'), action: z.enum(REPORTED_CHANGES), ...about }),
          z.object({
            kind: z.literal('refused'),
            action: z.enum(REFUSED_ACTIONS),
            ...about,
            attempts: count.min(1),
            since: epochMs,
          }),
        ]),
      )
      .min(1)
      .max(ACCESS_ENTRIES_MAX),
  }),
  answer: z.object({ recorded: z.literal(true) }),
});
