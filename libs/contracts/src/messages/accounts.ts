import { z } from 'zod';
import { accountCreate, accountView, keyCreate, keyView, managementRefusal } from '../operator/index.js';
import { request } from './message.js';
import { accountRecord, keyRecord, memberRecord } from './records.js';
import { count, digest, digests, objectId } from './scalars.js';

const actor = z.string().min(1).max(200);

/** Account, key and member of the key, read in one snapshot (money and failure, rule 11). `key` null: no such key. */
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

/** Which key a presented secret belongs to: a route, never a decision. Rotated-away digests are found no more. */
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

const management = {
  version: 1,
  sentBy: ['dashboard'],
  servedBy: ['accounts'],
  perReplica: false,
  answers: 'one',
  timeoutMs: 7_000,
} as const;

export const accountsCreateAccount = request({
  ...management,
  name: 'accounts.create-account',
  subject: 'accounts.create-account',
  body: z.object({ spec: accountCreate, actor }),
  answer: z.union([z.object({ account: accountView }), managementRefusal]),
});

/** The door that made the secret sends digest and masked form: the bus never carries a secret. */
export const accountsCreateKey = request({
  ...management,
  name: 'accounts.create-key',
  subject: 'accounts.create-key',
  body: z.object({ account: objectId, spec: keyCreate, digest, maskedSecret: z.string().max(100), actor }),
  answer: z.union([z.object({ key: keyView }), managementRefusal]),
});

export const accountsListAccounts = request({
  ...management,
  name: 'accounts.list-accounts',
  subject: 'accounts.list-accounts',
  body: z.object({ cursor: z.string().max(200).nullable(), limit: z.int().min(1).max(200) }),
  answer: z.object({ accounts: z.array(accountView), nextCursor: z.string().nullable(), total: count }),
});
