import { z } from 'zod';
import {
  PAGE_LIMIT_MAX,
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
} from '../operator/index.js';
import { externalId } from '../operator/scalars.js';
import { commandAuthor, throttled } from './access.js';
import { managementBy, published, request } from './message.js';
import { UNCHANGED_ACCOUNTS_MAX, UNCHANGED_PARTS_MAX, accountRecord, keyRecord, memberRecord } from './records.js';
import { commandId, count, digest, digests, epochMs, objectId } from './scalars.js';

/**
 * Loads an account, a key and the key's member from one snapshot (docs/protocol.md#r11). `key` is
 * null if the key does not exist.
 */
export const accountsLoad = request({
  name: 'accounts.load',
  sentBy: ['admission'],
  servedBy: ['accounts'],
  timeoutMs: 1_500,
  body: z.object({ account: objectId, key: objectId.nullable() }),
  answer: z.object({ account: accountRecord.nullable(), key: keyRecord.nullable(), member: memberRecord.nullable() }),
});

const versionOf = z.object({ id: objectId, version: count });

/**
 * Returns the accounts whose versions still match at one instant: the account's version and the
 * version of each listed key and member (docs/protocol.md#r12). A key or member of another account
 * never matches.
 */
export const accountsUnchanged = request({
  name: 'accounts.unchanged',
  sentBy: ['admission'],
  servedBy: ['accounts'],
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
 * Finds the key of a presented secret. The result only locates the key and does not authorize it.
 * Digests of rotated secrets are not found.
 */
export const accountsFind = request({
  name: 'accounts.find',
  sentBy: ['admission'],
  servedBy: ['accounts'],
  timeoutMs: 1_500,
  body: z.object({ digests }),
  answer: z.object({ found: z.object({ account: objectId, key: objectId, digest }).nullable() }),
});

const management = managementBy('accounts');
const page = { cursor: cursor.nullable(), limit: z.int().min(1).max(PAGE_LIMIT_MAX) };
const nextCursor = z.string().nullable();
/**
 * Makes the command idempotent: a repeated command returns the first result and creates nothing, so
 * a retry cannot create an object twice. Absent: each request creates an object.
 */
const command = commandId.optional();

export const accountsCreateAccount = request({
  ...management,
  name: 'accounts.create-account',
  body: z.object({ spec: accountCreate, author: commandAuthor, command }),
  answer: z.union([z.object({ account: accountView }), managementRefusal]),
});

export const accountsGetAccount = request({
  ...management,
  name: 'accounts.get-account',
  body: z.object({ account: objectId }),
  answer: z.union([z.object({ account: accountView }), managementRefusal]),
});

export const accountsListAccounts = request({
  ...management,
  name: 'accounts.list-accounts',
  /** `externalId`: only the account that has it. */
  body: z.object({ externalId: externalId.optional(), ...page }),
  answer: z.union([z.object({ accounts: z.array(accountView), nextCursor, total: count }), managementRefusal]),
});

/**
 * Responds after admission has applied the change. A suspension also ends the account's running
 * calls with the next heartbeat of their edges.
 */
export const accountsSetAccountState = request({
  ...management,
  name: 'accounts.set-account-state',
  body: z.object({ account: objectId, verb: z.enum(['suspend', 'reinstate']), author: commandAuthor }),
  answer: z.union([z.object({ account: accountView }), managementRefusal]),
});

/**
 * Closes an account permanently: ends its subscription, keys and running calls, and erases names
 * and addresses. The ledger is kept. Refused with `state_conflict` if the wallet is not zero.
 * Responds after admission has applied the change. Closing a closed account changes nothing.
 */
export const accountsCloseAccount = request({
  ...management,
  name: 'accounts.close-account',
  timeoutMs: 20_000,
  body: z.object({ account: objectId, author: commandAuthor }),
  answer: z.union([z.object({ account: accountView }), managementRefusal]),
});

export const accountsCreateMember = request({
  ...management,
  name: 'accounts.create-member',
  body: z.object({ account: objectId, spec: memberCreate, author: commandAuthor, command }),
  answer: z.union([z.object({ member: memberView }), managementRefusal]),
});

/**
 * Adds a member and sends an invitation email. A person without a password gets a link to set one.
 * Invitations are limited per account.
 */
export const accountsInviteMember = request({
  ...management,
  name: 'accounts.invite-member',
  body: z.object({ account: objectId, spec: memberCreate.omit({ emailVerified: true }), author: commandAuthor }),
  answer: z.union([z.object({ member: memberView }), throttled, managementRefusal]),
});

export const accountsListMembers = request({
  ...management,
  name: 'accounts.list-members',
  body: z.object({ account: objectId, ...page }),
  answer: z.union([z.object({ members: z.array(memberView), nextCursor }), managementRefusal]),
});

/**
 * Permissions that changes of a member need. `keys`: for a higher role or a verified address,
 * because both allow the member to create keys. `money`: for the cap.
 */
export const MEMBER_PERMISSIONS = ['keys', 'money'] as const;
export type MemberPermission = (typeof MEMBER_PERMISSIONS)[number];

/** Responds after admission has applied the member's cap. */
export const accountsPutMember = request({
  ...management,
  name: 'accounts.put-member',
  body: z.object({
    account: objectId,
    member: objectId,
    spec: memberPut,
    author: commandAuthor,
    /** Permissions that the sender does not have. A change that needs one of them is refused. */
    missingPermissions: z.array(z.enum(MEMBER_PERMISSIONS)).optional(),
  }),
  answer: z.union([z.object({ member: memberView }), managementRefusal]),
});

/**
 * Refused with `in_use` if the member has active or suspended keys. The owner cannot be deleted.
 */
export const accountsDeleteMember = request({
  ...management,
  name: 'accounts.delete-member',
  body: z.object({ account: objectId, member: objectId, author: commandAuthor }),
  answer: z.union([z.object({ deleted: z.literal(true) }), managementRefusal]),
});

/** Digest and masked form of a new secret. The secret itself is never sent over the bus. */
const newSecret = { digest, maskedSecret: z.string().max(100) };

/** `repeated`: this command created the key before. Its secret is no longer available. */
export const accountsCreateKey = request({
  ...management,
  name: 'accounts.create-key',
  body: z.object({ account: objectId, spec: keyCreate, ...newSecret, author: commandAuthor, command }),
  answer: z.union([z.object({ key: keyView, repeated: z.boolean() }), managementRefusal]),
});

/**
 * Responds after admission has the new digest. From then on the old secret is refused everywhere.
 * `inForce` is false if admission has not confirmed within 5 s. The key has the new secret in both
 * cases, so the response returns it: it cannot be read again.
 */
export const accountsRotateKey = request({
  ...management,
  name: 'accounts.rotate-key',
  body: z.object({ key: objectId, ...newSecret, author: commandAuthor, command }),
  answer: z.union([z.object({ key: keyView, repeated: z.boolean(), inForce: z.boolean() }), managementRefusal]),
});

/** Responds after admission has applied the change. Repeating it changes nothing. */
export const accountsSetKeyState = request({
  ...management,
  name: 'accounts.set-key-state',
  body: z.object({ key: objectId, verb: z.enum(['revoke', 'suspend', 'reinstate']), author: commandAuthor }),
  answer: z.union([z.object({ key: keyView }), managementRefusal]),
});

/** Lists the keys of one member or of all, oldest first, without playground keys. */
export const accountsListKeys = request({
  ...management,
  name: 'accounts.list-keys',
  body: z.object({ account: objectId, member: objectId.optional(), ...page }),
  answer: z.union([z.object({ keys: z.array(keyView), nextCursor }), managementRefusal]),
});

export const accountsGetKey = request({
  ...management,
  name: 'accounts.get-key',
  body: z.object({ key: objectId }),
  answer: z.union([z.object({ key: keyView }), managementRefusal]),
});

/** Maximum number of IDs in one names request. */
export const NAMES_MAX = 200;

/**
 * Returns the names of keys and the addresses of members of one account, including deleted ones.
 * IDs of other accounts are omitted.
 */
export const accountsNames = request({
  ...management,
  name: 'accounts.names',
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
        /** The member who owns the key. */
        member: objectId,
        email: z.string(),
      }),
    ),
    members: z.array(z.object({ id: objectId, email: z.string() })),
  }),
});

/**
 * Creates a member's internal playground key, or replaces its digest. The key is neither listed nor
 * counted. Responds after admission has applied the change. Version 1 did not have `member`: a
 * replica with that version would assign the call to the owner.
 */
export const accountsEnsurePlaygroundKey = request({
  ...management,
  version: 2,
  name: 'accounts.ensure-playground-key',
  body: z.object({ account: objectId, member: objectId, digest, author: commandAuthor }),
  answer: z.union([z.object({ key: objectId }), managementRefusal]),
});

export const accountsAudit = request({
  ...management,
  name: 'accounts.audit',
  body: z.object({
    account: objectId.nullable(),
    object: z.string().max(200).nullable(),
    /** Absent: all kinds. */
    kind: auditKind.optional(),
    ...page,
  }),
  answer: z.union([z.object({ entries: z.array(auditEntryView), nextCursor }), managementRefusal]),
});

/**
 * Finds the operator of a presented token by its digests. The dashboard sends this for every
 * request, so a deleted operator is refused immediately.
 */
export const accountsFindOperator = request({
  ...management,
  name: 'accounts.find-operator',
  timeoutMs: 2_000,
  body: z.object({ digests }),
  answer: z.object({ operator: operatorView.nullable() }),
});

export const accountsCreateOperator = request({
  ...management,
  name: 'accounts.create-operator',
  body: z.object({ spec: operatorCreate, digest, author: commandAuthor, command }),
  answer: z.union([z.object({ operator: operatorView, repeated: z.boolean() }), managementRefusal]),
});

export const accountsListOperators = request({
  ...management,
  name: 'accounts.list-operators',
  body: z.object(page),
  answer: z.union([z.object({ operators: z.array(operatorView), nextCursor }), managementRefusal]),
});

export const accountsDeleteOperator = request({
  ...management,
  name: 'accounts.delete-operator',
  body: z.object({ operator: objectId, author: commandAuthor }),
  answer: z.union([z.object({ deleted: z.literal(true) }), managementRefusal]),
});

/** How long an idempotency key is kept. */
export const IDEMPOTENCY_HOURS = 24;
const idempotencyKey = z.string().min(1).max(255);

/**
 * Begins a request with an idempotency key. `done`: the request was completed before, and this is
 * its response. `begun`: execute it with this command, also if an earlier sender died before its
 * response. `conflict`: the key was used with a different request.
 */
export const accountsBeginIdempotent = request({
  ...management,
  name: 'accounts.begin-idempotent',
  timeoutMs: 2_000,
  body: z.object({ operator: z.string().max(200), idempotencyKey, fingerprint: digest }),
  answer: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('begun'), command: commandId }),
    z.object({ kind: z.literal('done'), status: z.int(), body: z.string() }),
    z.object({ kind: z.literal('conflict') }),
  ]),
});

/** Stores the response of a request with an idempotency key, without secrets. */
export const accountsEndIdempotent = request({
  ...management,
  name: 'accounts.end-idempotent',
  timeoutMs: 2_000,
  body: z.object({
    operator: z.string().max(200),
    idempotencyKey,
    fingerprint: digest,
    status: z.int().min(200).max(499),
    body: z.string().max(200_000),
  }),
  answer: z.object({ stored: z.literal(true) }),
});

/** Maximum number of keys in one last-use message. */
export const KEY_USES_MAX = 1_000;

/** Times at which keys were last used by an admitted call. Sent periodically; a later time wins. */
export const keysUsed = published({
  name: 'keys.used',
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
