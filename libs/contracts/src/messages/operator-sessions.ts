import { z } from 'zod';
import { operatorView } from '../operator/operators.js';
import { request } from './message.js';
import { digest, digests, objectId } from './scalars.js';

const sessions = {
  version: 1,
  sentBy: ['dashboard'],
  servedBy: ['accounts'],
  perReplica: false,
  answers: 'one',
  timeoutMs: 2_000,
} as const;

/**
 * Whose session: a named operator's, or that of the holder of the deployment's token with this
 * digest under the pepper.
 */
const holder = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('named'), operator: objectId }),
  z.object({ kind: z.literal('root'), rootDigest: digest }),
]);

/**
 * Begins an operator's session on the pages, after the token was found right. `created` false: the
 * operator is gone meanwhile.
 */
export const accountsCreateOperatorSession = request({
  ...sessions,
  name: 'accounts.create-operator-session',
  subject: 'accounts.create-operator-session',
  body: z.object({ digest, holder }),
  answer: z.object({ created: z.boolean() }),
});

/**
 * Who has the session of one of the digests. Asked for every request, so that a sign-out, a deleted
 * operator and a new token of the deployment hold at once. `rootDigests`: of the deployment's
 * tokens that are accepted now, under each pepper.
 */
export const accountsFindOperatorSession = request({
  ...sessions,
  name: 'accounts.find-operator-session',
  subject: 'accounts.find-operator-session',
  body: z.object({ digests, rootDigests: z.array(digest).min(1).max(4) }),
  answer: z.object({ holder: z.union([z.literal('root'), operatorView]).nullable() }),
});

/** Ends this session; one that has ended is ended. */
export const accountsEndOperatorSession = request({
  ...sessions,
  name: 'accounts.end-operator-session',
  subject: 'accounts.end-operator-session',
  body: z.object({ digests }),
  answer: z.object({ ended: z.literal(true) }),
});
