import { accountsBeginIdempotent } from '@gateway/contracts/messages';
import { canonicalJson } from '../../http/canonical-json.js';
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_RULE, isIdempotencyKey } from '../../http/idempotency-key.js';
import { refusePage, type PageRefusal } from '../refusals.js';
import type { UserContext } from '../route.js';

/**
 * The command of a request with an idempotency key: the same one however often the person repeats it, so that its verb makes
 * nothing twice. No answer is kept: what was refused is asked again. Undefined: the request has no such key.
 */
export async function commandOf(
  { door, actor, idempotencyKey }: UserContext,
  content: unknown,
): Promise<string | undefined | PageRefusal> {
  if (idempotencyKey === undefined) return undefined;
  if (!isIdempotencyKey(idempotencyKey)) return refusePage('invalid_request', IDEMPOTENCY_KEY_RULE, IDEMPOTENCY_KEY);
  const fingerprint = door.secrets.fingerprintOf(canonicalJson(content));
  const begun = await door.services.request(accountsBeginIdempotent, { operator: actor, idempotencyKey, fingerprint });
  if (begun.kind === 'begun') return begun.command;
  return refusePage('invalid_request', `the ${IDEMPOTENCY_KEY} came with another request`, IDEMPOTENCY_KEY);
}
