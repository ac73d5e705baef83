import { refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import { hasSealedForm } from '@gateway/service-kit';

/**
 * The sealed text that an object will have. One in clear, or in a form that no edge reads, is
 * refused; whether it opens, only the edges' key shows.
 * @param given absent: the stored one is kept, null: none
 */
export function acceptCredential(
  given: string | null | undefined,
  stored: string | null,
): { readonly sealed: string | null } | ManagementRefusal {
  if (given === undefined) return { sealed: stored };
  if (given === null || hasSealedForm(given)) return { sealed: given };
  return refuse('invalid_request', 'the credential is not a sealed text of a known version', 'credential');
}
