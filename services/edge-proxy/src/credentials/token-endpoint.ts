import { z } from 'zod';
import { CredentialError, type TokenResponse, type TokenHttp } from '../ports.js';
import type { IssuedCredential } from './expiring-credential.js';

/** Lifetime in seconds of a token whose endpoint does not report one. */
export const LIFE_S_DEFAULT = 300;

const issuedToken = z.object({
  access_token: z.string().min(1),
  // Some endpoints write numbers as strings.
  expires_in: z.coerce.number().positive().optional(),
});
const refusal = z.object({ error: z.string().regex(/^[a-z_]{1,64}$/) });

/**
 * Requests a token from an OAuth 2.0 token endpoint with a form.
 * @param nowMs epoch milliseconds of the request
 * @throws CredentialError with the status and error code of the endpoint, without its text
 */
export async function requestToken(
  http: TokenHttp,
  url: string,
  form: Readonly<Record<string, string>>,
  nowMs: number,
): Promise<IssuedCredential<string>> {
  const answer = await http.ask({
    url,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: new URLSearchParams(form).toString(),
  });
  const issued = issuedToken.safeParse(jsonOf(answer));
  if (answer.status === 200 && issued.success) {
    const { access_token: value, expires_in: lifeS = LIFE_S_DEFAULT } = issued.data;
    return { value, expiresAtMs: nowMs + lifeS * 1_000 };
  }
  throw new CredentialError(`the token endpoint returned ${answer.status}${codeOf(answer)}`);
}

function codeOf(answer: TokenResponse): string {
  const reported = refusal.safeParse(jsonOf(answer));
  return reported.success ? ` ${reported.data.error}` : '';
}

function jsonOf({ body }: TokenResponse): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
