import { refuse, type CredentialInput, type ManagementRefusal } from '@gateway/contracts/operator';
import type { Secrets } from '../../secrets.js';
import { refuseRight, type May } from '../access.js';

const CREDENTIAL_CHARS_MAX = 4_096;

/** Absent: the stored one is kept. */
export type SealedCredential = { readonly sealedCredential?: string | null };

/**
 * The credential of a source or provider as it travels.
 * @param sealedFor the source's id, or the provider's `providerCredentialPlace`
 * @param param its place in the body
 */
export function sealCredential(
  secrets: Secrets,
  sealedFor: string,
  credential: CredentialInput | null | undefined,
  param: string,
  may: May,
): SealedCredential | ManagementRefusal {
  if (credential === undefined) return {};
  if (credential === null) return { sealedCredential: null };
  if (typeof credential === 'string') return sealText(secrets, sealedFor, credential, param);
  const name = credential.fromEnv;
  const place = `${param}.fromEnv`;
  // Otherwise a role that chooses hosts could send the variable to a host of its own.
  if (!may('credentials')) return refuseRight('credentials', `${place}: a credential of the environment`, place);
  const found = secrets.fromEnvironment(name);
  if (found === 'not_allowed') {
    const remedy = 'the dashboard takes the names that GATEWAY_CREDENTIAL_ENV lists, none that begins with GATEWAY_';
    return refuse('invalid_request', `${place}: ${name} may not be read: ${remedy}`, place);
  }
  if (found === null)
    return refuse('invalid_request', `${place}: ${name} is not set where the operator API runs`, place);
  return sealText(secrets, sealedFor, inOneLine(found.text), place);
}

/** The file of a cloud is JSON in several lines. What is none stays as it is. */
function inOneLine(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

/** Most credentials are sent as a header. */
function sealText(
  secrets: Secrets,
  sealedFor: string,
  text: string,
  place: string,
): SealedCredential | ManagementRefusal {
  if (/^[\x20-\x7e]+$/.test(text) && text.length <= CREDENTIAL_CHARS_MAX) {
    return { sealedCredential: secrets.seal(text, sealedFor) };
  }
  return refuse('invalid_request', `${place}: 1 to ${CREDENTIAL_CHARS_MAX} printable ASCII characters`, place);
}
