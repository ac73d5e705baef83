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

/** Owner of a session: a named operator, or a holder of the deployment's token (by digest). */
const holder = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('named'), operator: objectId }),
  z.object({ kind: z.literal('root'), rootDigest: digest }),
]);

/**
 * Starts an operator's session on the pages after the token was verified. `created` is false if the
 * operator has expired or been deleted in the meantime.
 */
export const accountsCreateOperatorSession = request({
  ...sessions,
  name: 'accounts.create-operator-session',
  body: z.object({ digest, holder }),
  answer: z.object({ created: z.boolean() }),
});

/**
 * Finds the owner of a session by digests. The dashboard sends this for every request, so that a
 * sign-out, a deleted operator and a new deployment token take effect immediately. `rootDigests`:
 * digests of the accepted deployment tokens under each pepper.
 */
export const accountsFindOperatorSession = request({
  ...sessions,
  name: 'accounts.find-operator-session',
  body: z.object({ digests, rootDigests: z.array(digest).min(1).max(4) }),
  answer: z.object({ holder: z.union([z.literal('root'), operatorView]).nullable() }),
});

/** Ends this session. Ending it again changes nothing. */
export const accountsEndOperatorSession = request({
  ...sessions,
  name: 'accounts.end-operator-session',
  body: z.object({ digests }),
  answer: z.object({ ended: z.literal(true) }),
});
