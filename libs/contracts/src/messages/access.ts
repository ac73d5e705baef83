import { z } from 'zod';
import { request } from './message.js';
import { count, epochMs, objectId } from './scalars.js';

/** Characters of a user agent that are kept. */
export const AGENT_CHARS_MAX = 200;
/** Entries in one message. */
export const ACCESS_ENTRIES_MAX = 400;

/**
 * Where a request comes from: an IPv4 address, or the /64 of an IPv6 address. Attempts are counted
 * by it.
 */
export const client = z.string().min(1).max(64);

/** Where a request came from, as the audit log keeps it. `agent`: what the client calls itself. */
export const requestOrigin = z.object({
  client,
  agent: z.string().min(1).max(AGENT_CHARS_MAX).nullable(),
  requestId: z.string().min(1).max(64),
});
export type RequestOrigin = z.infer<typeof requestOrigin>;

/**
 * Who sends a command and where the request came from: a field of every command, written into its
 * audit entry.
 */
export const commandAuthor = z.object({
  /** `operator:<name>`, `user:<id>`; `stranger`: not known. */
  actor: z.string().min(1).max(200),
  origin: requestOrigin,
});
export type CommandAuthor = z.infer<typeof commandAuthor>;

/** Author of an audit entry. `origin` is null where a service acts by itself, without a request. */
export interface EntryAuthor {
  readonly actor: string;
  readonly origin: RequestOrigin | null;
}

/** Too many attempts from this client, on this address, or of this account. */
export const throttled = z.object({ kind: z.literal('throttled'), retryAfterSeconds: z.int().min(1).max(86_400) });

/** Uses of a right that change nothing, as the audit log names them. */
export const ACCESS_ACTIONS = ['operator_sign_in', 'operator_sign_out', 'export', 'test_source'] as const;
/** Changes of what lies in no database, which no service writes down with the change itself. */
export const NOTED_CHANGES = ['end_call'] as const;
/** Attempts that were refused. They are counted, by minute. */
export const REFUSED_ACTIONS = ['sign_in_refused', 'operator_token_refused', 'access_refused'] as const;
export type AccessAction = (typeof ACCESS_ACTIONS)[number];
export type NotedChange = (typeof NOTED_CHANGES)[number];
export type RefusedAction = (typeof REFUSED_ACTIONS)[number];

const about = {
  /** Of counted attempts: the author of the first. */
  ...commandAuthor.shape,
  account: objectId.nullable(),
  objectId: z.string().min(1).max(200),
};

/**
 * Writes into the audit log what no service writes with a change of its own: uses of a right,
 * refused attempts, and calls that are about to be ended. Each entry is written once: none is
 * repeated.
 */
export const accountsNoteAccess = request({
  name: 'accounts.note-access',
  subject: 'accounts.note-access',
  version: 1,
  sentBy: ['dashboard'],
  servedBy: ['accounts'],
  perReplica: false,
  answers: 'one',
  timeoutMs: 5_000,
  body: z.object({
    entries: z
      .array(
        z.discriminatedUnion('kind', [
          z.object({ kind: z.literal('access'), action: z.enum(ACCESS_ACTIONS), ...about }),
          z.object({ kind: z.literal('change'), action: z.enum(NOTED_CHANGES), ...about }),
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
  answer: z.object({ noted: z.literal(true) }),
});
