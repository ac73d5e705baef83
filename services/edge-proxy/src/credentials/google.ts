import type { AuthClient, ExternalAccountClientOptions } from 'google-auth-library';
import { readFile } from 'node:fs/promises';
import { findFailureCode } from './credential-text.js';
import { CredentialError, type TokenHttp } from '../ports.js';
import { googleFile, readCredential, type GoogleFile } from './credential-text.js';
import type { IssuedCredential } from './expiring-credential.js';
import { LIFE_S_DEFAULT } from './token-endpoint.js';

/** The library's address for tokens of service accounts, regardless of their file. */
const SERVICE_ACCOUNT_ENDPOINT = 'https://oauth2.googleapis.com/token';

/** Most nested causes of an error that are checked. */
const CAUSES_MAX = 4;

export interface GoogleParts {
  readonly http: TokenHttp;
  readonly env: NodeJS.ProcessEnv;
  readonly nowMs: () => number;
}

/**
 * Fetches tokens for a service account or by workload identity federation. Uses Google's library,
 * whose requests go through `http`. If `credential` is null, uses the file in
 * GOOGLE_APPLICATION_CREDENTIALS, read again for each token, or else the metadata server, which the
 * library contacts itself.
 * @throws CredentialError if the credential cannot be used
 */
export function makeGoogleFetcher(
  scope: string,
  credential: string | null,
  { http, env, nowMs }: GoogleParts,
): () => Promise<IssuedCredential<string>> {
  const own = credential === null ? null : readCredential(googleFile, 'google', credential);
  return async () => {
    // A new client each time: ExpiringCredential decides when to fetch, so nothing may be cached.
    const client = await makeClient(own ?? (await readDefaultFile(env)), scope, http);
    const { token } = await client.getAccessToken().catch((err: unknown) => {
      throw findCredentialError(err) ?? new CredentialError(`no Google token: ${formatFailure(err)}`);
    });
    if (!token) throw new CredentialError('no Google token: the response contains none');
    return { value: token, expiresAtMs: client.credentials.expiry_date ?? nowMs() + LIFE_S_DEFAULT * 1_000 };
  };
}

/** Whether the library reads the environment for this file: files, addresses, variables. */
export function usesEnvironment(credential: string): boolean {
  return readCredential(googleFile, 'google', credential).type === 'external_account';
}

async function readDefaultFile(env: NodeJS.ProcessEnv): Promise<GoogleFile | null> {
  const path = env['GOOGLE_APPLICATION_CREDENTIALS'];
  return path ? readCredential(googleFile, 'google', await readFile(path, 'utf8')) : null;
}

/** @param file null to use the metadata server */
async function makeClient(file: GoogleFile | null, scope: string, http: TokenHttp): Promise<AuthClient> {
  // Loaded on demand: the library is large, and few deployments need it.
  const { Compute, ExternalAccountClient, JWT } = await import('google-auth-library');
  const scopes = [scope];
  if (file === null) return new Compute({ scopes });
  if (file.type === 'service_account') {
    const { client_email: email, private_key: key, token_uri: aud } = file;
    const claims = aud === undefined ? {} : { additionalClaims: { aud } };
    return new JWT({
      email,
      key,
      scopes,
      ...claims,
      transporterOptions: { fetchImplementation: fetchThrough(http, aud) },
    });
  }
  const client = ExternalAccountClient.fromJSON({
    ...(file as unknown as ExternalAccountClientOptions),
    transporterOptions: { fetchImplementation: fetchThrough(http, undefined) },
  });
  if (client === null) throw new CredentialError('no Google token: its library does not support this file');
  client.scopes = scopes;
  return client;
}

/** Applies the edge's connection rules and limits to the library's requests. */
function fetchThrough(http: TokenHttp, tokenUri: string | undefined): typeof fetch {
  return async (input, init) => {
    const url = String(input instanceof Request ? input.url : input);
    const body = init?.body ?? null;
    const answer = await http.ask({
      url: url === SERVICE_ACCOUNT_ENDPOINT && tokenUri !== undefined ? tokenUri : url,
      method: init?.method === 'POST' ? 'POST' : 'GET',
      headers: Object.fromEntries(new Headers(init?.headers)),
      body: body === null ? null : await new Response(body).text(),
    });
    return new Response(answer.body, { status: answer.status, headers: answer.headers });
  };
}

/** Finds the CredentialError of our request. The library rethrows it as a cause. */
function findCredentialError(err: unknown): CredentialError | null {
  let reason = err;
  for (let depth = 0; depth < CAUSES_MAX; depth += 1) {
    if (reason instanceof CredentialError) return reason;
    reason = typeof reason === 'object' && reason !== null && 'cause' in reason ? reason.cause : null;
  }
  return null;
}

/** Returns the status of an HTTP error response, or else the code of the failure. */
function formatFailure(err: unknown): string {
  const isAnswered = typeof err === 'object' && err !== null && 'status' in err && typeof err.status === 'number';
  return isAnswered ? `its endpoint returned ${String(err.status)}` : findFailureCode(err);
}
