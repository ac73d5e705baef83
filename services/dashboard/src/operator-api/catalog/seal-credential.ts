import { refuse, type CredentialInput, type ManagementRefusal } from '@gateway/contracts/operator';
import type { Secrets } from '../../secrets.js';
import { refusePermission, type PermissionCheck } from '../access.js';

const CREDENTIAL_CHARS_MAX = 4_096;

/** Absent: the stored credential is kept. */
export type SealedCredential = { readonly sealedCredential?: string | null };

/**
 * Seals the credential of a source or provider for the bus.
 * @param sealedFor the source's ID, or the provider's `providerCredentialPlace` @param param its
 * path in the body
 */
export function sealCredential(
  secrets: Secrets,
  sealedFor: string,
  credential: CredentialInput | null | undefined,
  param: string,
  may: PermissionCheck,
): SealedCredential | ManagementRefusal {
  if (credential === undefined) return {};
  if (credential === null) return { sealedCredential: null };
  if (typeof credential === 'string') return sealText(secrets, sealedFor, credential, param);
  const name = credential.fromEnv;
  const place = `${param}.fromEnv`;
  // A role that chooses hosts could otherwise send the variable to its own host.
  if (!may('credentials')) return refusePermission('credentials', `${place}: a credential of the environment`, place);
  const found = secrets.fromEnvironment(name);
  if (found === 'not_allowed') {
    const remedy = 'the name must match GATEWAY_CREDENTIAL_ENV of the dashboard and must not begin with GATEWAY_';
    return refuse('invalid_request', `${place}: ${name} may not be read: ${remedy}`, place);
  }
  if (found === null)
    return refuse('invalid_request', `${place}: ${name} is not set where the operator API runs`, place);
  return sealText(secrets, sealedFor, inOneLine(found.text), place);
}

/** Credential files of clouds are JSON of several lines. Other text stays unchanged. */
export function inOneLine(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

/** Accepts printable ASCII only, because most credentials are sent as a header. */
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
