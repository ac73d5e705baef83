import { refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import { hasSealedForm } from '@gateway/service-kit';

/**
 * Returns the sealed credential that an object will have. Refuses an unsealed text and an unknown
 * form. Whether it opens is known only at the edge, which has the key.
 * @param given absent: the stored one is kept; null: it is removed
 */
export function acceptCredential(
  given: string | null | undefined,
  stored: string | null,
): { readonly sealed: string | null } | ManagementRefusal {
  if (given === undefined) return { sealed: stored };
  if (given === null || hasSealedForm(given)) return { sealed: given };
  return refuse('invalid_request', 'the credential is not a sealed text of a known version', 'credential');
}
