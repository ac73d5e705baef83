import { refuse, type CredentialInput, type ManagementRefusal } from '@gateway/contracts/operator';
import type { Secrets } from '../ports.js';

/** Variables of the gateway itself, its own secrets among them: no operator may send these to an address. */
const OWN_VARIABLES = /^GATEWAY_/;
const CREDENTIAL_CHARS_MAX = 4_096;

/** Absent: the stored one is kept. */
export type SealedCredential = { readonly sealedCredential?: string | null };

/** The credential of one source as it travels; `param` is its place in the body. */
export function sealCredential(
  secrets: Secrets,
  source: string,
  credential: CredentialInput | null | undefined,
  param: string,
): SealedCredential | ManagementRefusal {
  if (credential === undefined) return {};
  if (credential === null) return { sealedCredential: null };
  if (typeof credential === 'string') return sealText(secrets, source, credential, param);
  const name = credential.fromEnv;
  const place = `${param}.fromEnv`;
  if (OWN_VARIABLES.test(name)) {
    return refuse('invalid_request', `${place}: variables that begin with GATEWAY_ are the gateway's own`, place);
  }
  const text = secrets.fromEnvironment(name);
  if (text === null)
    return refuse('invalid_request', `${place}: ${name} is not set where the operator API runs`, place);
  return sealText(secrets, source, text, place);
}

/** A credential is sent as a header. */
function sealText(secrets: Secrets, source: string, text: string, place: string): SealedCredential | ManagementRefusal {
  if (/^[\x20-\x7e]+$/.test(text) && text.length <= CREDENTIAL_CHARS_MAX) {
    return { sealedCredential: secrets.seal(text, source) };
  }
  return refuse('invalid_request', `${place}: 1 to ${CREDENTIAL_CHARS_MAX} printable ASCII characters`, place);
}
