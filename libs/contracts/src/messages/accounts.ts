import { z } from 'zod';
import {
  accountCreate,
  accountView,
  auditEntryView,
  auditKind,
  cursor,
  keyCreate,
  keyView,
  managementRefusal,
  memberCreate,
  memberPut,
  memberView,
  operatorCreate,
  operatorView,
  PAGE_LIMIT_MAX,
} from '../operator/index.js';
import { commandAuthor, throttled } from './access.js';
import { managementBy } from './management.js';
import { published, request } from './message.js';
import { accountRecord, keyRecord, memberRecord, UNCHANGED_ACCOUNTS_MAX, UNCHANGED_PARTS_MAX } from './records.js';
import { commandId, count, digest, digests, epochMs, objectId } from './scalars.js';

/**
 * Account, key and member of the key, read in one snapshot (docs/protocol.md#r11). `key` null: no
 * such key.
 */
export const accountsLoad = request({
  name: 'accounts.load',
  subject: 'accounts.load',
  version: 1,
  sentBy: ['admission'],
  servedBy: ['accounts'],
  perReplica: false,
  answers: 'one',
  timeoutMs: 1_500,
  body: z.object({ account: objectId, key: objectId.nullable() }),
  answer: z.object({ account: accountRecord.nullable(), key: keyRecord.nullable(), member: memberRecord.nullable() }),
});

const versionOf = z.object({ id: objectId, version: count });

/**
 * Which of the accounts have the versions that are said: of themselves, and of each key and member
 * that is named, at one instant (docs/protocol.md#r12). A key or a member of another account has
 * none.
 */
export const accountsUnchanged = request({
  name: 'accounts.unchanged',
  subject: 'accounts.unchanged',
  version: 1,
  sentBy: ['admission'],
  servedBy: ['accounts'],
  perReplica: false,
  answers: 'one',
  timeoutMs: 3_000,
  body: z.object({
    accounts: z
      .array(
        z.object({
          account: objectId,
          version: count,
          keys: z.array(versionOf).max(UNCHANGED_PARTS_MAX),
          members: z.array(versionOf).max(UNCHANGED_PARTS_MAX),
        }),
      )
      .min(1)
      .max(UNCHANGED_ACCOUNTS_MAX),
  }),
  answer: z.object({ accounts: z.array(objectId).max(UNCHANGED_ACCOUNTS_MAX) }),
});

/**
 * Which key a presented secret belongs to: a route, never a decision. Rotated-away digests are
 * found no more.
 */
export const accountsFind = request({
  name: 'accounts.find',
  subject: 'accounts.find',
  version: 1,
  sentBy: ['admission'],
  servedBy: ['accounts'],
  perReplica: false,
  answers: 'one',
  timeoutMs: 1_500,
  body: z.object({ digests }),
  answer: z.object({ found: z.object({ account: objectId, key: objectId, digest }).nullable() }),
});

const management = managementBy('accounts');
const page = { cursor: cursor.nullable(), limit: z.int().min(1).max(PAGE_LIMIT_MAX) };
const nextCursor = z.string().nullable();
/**
 * The same command again answers what it made the first time and makes nothing: a sender that
 * repeats a request cannot double it. Absent: each request makes something.
 */
const command = commandId.optional();

export const accountsCreateAccount = request({
  ...management,
  name: 'accounts.create-account',
  subject: 'accounts.create-account',
  body: z.object({ spec: accountCreate, author: commandAuthor, command }),
  answer: z.union([z.object({ account: accountView }), managementRefusal]),
});

export const accountsGetAccount = request({
  ...management,
  name: 'accounts.get-account',
  subject: 'accounts.get-account',
  body: z.object({ account: objectId }),
  answer: z.union([z.object({ account: accountView }), managementRefusal]),
});

export const accountsListAccounts = request({
  ...management,
  name: 'accounts.list-accounts',
  subject: 'accounts.list-accounts',
  body: z.object(page),
  answer: z.union([z.object({ accounts: z.array(accountView), nextCursor, total: count }), managementRefusal]),
});

/**
 * Answered when admission has it. Suspending also ends the account's running calls, with the next
 * heartbeat of their edges.
 */
export const accountsSetAccountState = request({
  ...management,
  name: 'accounts.set-account-state',
  subject: 'accounts.set-account-state',
  body: z.object({ account: objectId, verb: z.enum(['suspend', 'reinstate']), author: commandAuthor }),
  answer: z.union([z.object({ account: accountView }), managementRefusal]),
});

/**
 * Ends an account for ever: subscription, keys and running calls end, names and addresses are
 * erased, the ledger stays. Refused with `state_conflict` while its wallet is not zero. Answered
 * when admission has it; closing again changes nothing.
 */
export const accountsCloseAccount = request({
  ...management,
  name: 'accounts.close-account',
  subject: 'accounts.close-account',
  timeoutMs: 20_000,
  body: z.object({ account: objectId, author: commandAuthor }),
  answer: z.union([z.object({ account: accountView }), managementRefusal]),
});

export const accountsCreateMember = request({
  ...management,
  name: 'accounts.create-member',
  subject: 'accounts.create-member',
  body: z.object({ account: objectId, spec: memberCreate, author: commandAuthor, command }),
  answer: z.union([z.object({ member: memberView }), managementRefusal]),
});

/**
 * Adds a member who is mailed; somebody without a password gets a link to set one. Invitations of
 * one account are limited.
 */
export const accountsInviteMember = request({
  ...management,
  name: 'accounts.invite-member',
  subject: 'accounts.invite-member',
  body: z.object({ account: objectId, spec: memberCreate.omit({ emailVerified: true }), author: commandAuthor }),
  answer: z.union([z.object({ member: memberView }), throttled, managementRefusal]),
});

export const accountsListMembers = request({
  ...management,
  name: 'accounts.list-members',
  subject: 'accounts.list-members',
  body: z.object({ account: objectId, ...page }),
  answer: z.union([z.object({ members: z.array(memberView), nextCursor }), managementRefusal]),
});

/**
 * Permissions that fields of a member need: `keys` for a higher role and a verified address, which
 * let the member make keys; `money` for the cap.
 */
export const MEMBER_RIGHTS = ['keys', 'money'] as const;
export type MemberRight = (typeof MEMBER_RIGHTS)[number];

/** Answered when admission has the member's cap. */
export const accountsPutMember = request({
  ...management,
  name: 'accounts.put-member',
  subject: 'accounts.put-member',
  body: z.object({
    account: objectId,
    member: objectId,
    spec: memberPut,
    author: commandAuthor,
    /** Permissions that the sender does not have; a change that needs one is refused. */
    lacks: z.array(z.enum(MEMBER_RIGHTS)).optional(),
  }),
  answer: z.union([z.object({ member: memberView }), managementRefusal]),
});

/** Refused with `in_use` while the member has active or suspended keys; the owner stays. */
export const accountsDeleteMember = request({
  ...management,
  name: 'accounts.delete-member',
  subject: 'accounts.delete-member',
  body: z.object({ account: objectId, member: objectId, author: commandAuthor }),
  answer: z.union([z.object({ deleted: z.literal(true) }), managementRefusal]),
});

/**
 * The service that made the secret sends digest and masked form: the bus never carries a secret.
 */
const newSecret = { digest, maskedSecret: z.string().max(100) };

/** `repeated`: the command made this key before, with a secret that nobody has any more. */
export const accountsCreateKey = request({
  ...management,
  name: 'accounts.create-key',
  subject: 'accounts.create-key',
  body: z.object({ account: objectId, spec: keyCreate, ...newSecret, author: commandAuthor, command }),
  answer: z.union([z.object({ key: keyView, repeated: z.boolean() }), managementRefusal]),
});

/**
 * Answered when admission has the new digest: from then on the old secret is refused everywhere.
 * `inForce: false`: it had not after 5 s. The new secret is the key's all the same, so it is
 * answered and not refused: nobody could ask for it again.
 */
export const accountsRotateKey = request({
  ...management,
  name: 'accounts.rotate-key',
  subject: 'accounts.rotate-key',
  body: z.object({ key: objectId, ...newSecret, author: commandAuthor, command }),
  answer: z.union([z.object({ key: keyView, repeated: z.boolean(), inForce: z.boolean() }), managementRefusal]),
});

/** Answered when admission has it; repeating it changes nothing. */
export const accountsSetKeyState = request({
  ...management,
  name: 'accounts.set-key-state',
  subject: 'accounts.set-key-state',
  body: z.object({ key: objectId, verb: z.enum(['revoke', 'suspend', 'reinstate']), author: commandAuthor }),
  answer: z.union([z.object({ key: keyView }), managementRefusal]),
});

/** Without the playground key; of one member, or of all. Newest last. */
export const accountsListKeys = request({
  ...management,
  name: 'accounts.list-keys',
  subject: 'accounts.list-keys',
  body: z.object({ account: objectId, member: objectId.optional(), ...page }),
  answer: z.union([z.object({ keys: z.array(keyView), nextCursor }), managementRefusal]),
});

export const accountsGetKey = request({
  ...management,
  name: 'accounts.get-key',
  subject: 'accounts.get-key',
  body: z.object({ key: objectId }),
  answer: z.union([z.object({ key: keyView }), managementRefusal]),
});

/** Ids of which names are asked at once. */
export const NAMES_MAX = 200;

/**
 * The names of keys and the addresses of members of one account, as far as they are its own; also
 * of those that are gone.
 */
export const accountsNames = request({
  ...management,
  name: 'accounts.names',
  subject: 'accounts.names',
  body: z.object({
    account: objectId,
    keys: z.array(objectId).max(NAMES_MAX),
    members: z.array(objectId).max(NAMES_MAX),
  }),
  answer: z.object({
    keys: z.array(
      z.object({
        id: objectId,
        name: z.string(),
        kind: z.enum(['api', 'playground']),
        /** Whose key it is. */
        member: objectId,
        email: z.string(),
      }),
    ),
    members: z.array(z.object({ id: objectId, email: z.string() })),
  }),
});

/**
 * A member's internal key for the playground: made when it is new, given this digest when it has
 * another. Not listed, not counted. Answered when admission has it. Version 1 knew no member: a
 * replica that still speaks it would make the call the owner's.
 */
export const accountsEnsurePlaygroundKey = request({
  ...management,
  version: 2,
  name: 'accounts.ensure-playground-key',
  subject: 'accounts.ensure-playground-key',
  body: z.object({ account: objectId, member: objectId, digest, author: commandAuthor }),
  answer: z.union([z.object({ key: objectId }), managementRefusal]),
});

export const accountsAudit = request({
  ...management,
  name: 'accounts.audit',
  subject: 'accounts.audit',
  body: z.object({
    account: objectId.nullable(),
    object: z.string().max(200).nullable(),
    /** Absent or null: of every kind. */
    kind: auditKind.nullable().optional(),
    ...page,
  }),
  answer: z.union([z.object({ entries: z.array(auditEntryView), nextCursor }), managementRefusal]),
});

/**
 * Of the digests of a presented token: asked for every request, so that a deleted operator is
 * refused at once.
 */
export const accountsFindOperator = request({
  ...management,
  name: 'accounts.find-operator',
  subject: 'accounts.find-operator',
  timeoutMs: 2_000,
  body: z.object({ digests }),
  answer: z.object({ operator: operatorView.nullable() }),
});

export const accountsCreateOperator = request({
  ...management,
  name: 'accounts.create-operator',
  subject: 'accounts.create-operator',
  body: z.object({ spec: operatorCreate, digest, author: commandAuthor, command }),
  answer: z.union([z.object({ operator: operatorView, repeated: z.boolean() }), managementRefusal]),
});

export const accountsListOperators = request({
  ...management,
  name: 'accounts.list-operators',
  subject: 'accounts.list-operators',
  body: z.object(page),
  answer: z.union([z.object({ operators: z.array(operatorView), nextCursor }), managementRefusal]),
});

export const accountsDeleteOperator = request({
  ...management,
  name: 'accounts.delete-operator',
  subject: 'accounts.delete-operator',
  body: z.object({ operator: objectId, author: commandAuthor }),
  answer: z.union([z.object({ deleted: z.literal(true) }), managementRefusal]),
});

/** How long an idempotency key is kept. */
export const IDEMPOTENCY_HOURS = 24;
const idempotencyKey = z.string().min(1).max(255);

/**
 * Begins a request with an idempotency key. `done`: it was answered before, and this is the answer.
 * `begun`: to be done (or done again: its sender died before the answer) with this command.
 * `conflict`: the key came with another request.
 */
export const accountsBeginIdempotent = request({
  ...management,
  name: 'accounts.begin-idempotent',
  subject: 'accounts.begin-idempotent',
  timeoutMs: 2_000,
  body: z.object({ operator: z.string().max(200), idempotencyKey, fingerprint: digest }),
  answer: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('begun'), command: commandId }),
    z.object({ kind: z.literal('done'), status: z.int(), body: z.string() }),
    z.object({ kind: z.literal('conflict') }),
  ]),
});

/** Keeps the answer (without secrets) of a request with an idempotency key. */
export const accountsEndIdempotent = request({
  ...management,
  name: 'accounts.end-idempotent',
  subject: 'accounts.end-idempotent',
  timeoutMs: 2_000,
  body: z.object({
    operator: z.string().max(200),
    idempotencyKey,
    fingerprint: digest,
    status: z.int().min(200).max(499),
    body: z.string().max(200_000),
  }),
  answer: z.object({ kept: z.literal(true) }),
});

/** Keys in one message about last use. */
export const KEY_USES_MAX = 1_000;

/** When keys were last used by an admitted call, told from time to time; a later time wins. */
export const keysUsed = published({
  name: 'keys.used',
  subject: 'keys.used',
  version: 1,
  sentBy: ['admission'],
  servedBy: ['accounts'],
  reaches: 'one',
  body: z.object({
    uses: z
      .array(z.object({ key: objectId, at: epochMs }))
      .min(1)
      .max(KEY_USES_MAX),
  }),
});
