import type { AuthClient, ExternalAccountClientOptions } from 'google-auth-library';
import { readFile } from 'node:fs/promises';
import { failureCode } from './credential-text.js';
import { CredentialError, type TokenHttp } from '../ports.js';
import { googleFile, readCredential, type GoogleFile } from './credential-text.js';
import type { Issued } from './expiring-credential.js';
import { LIFE_S_DEFAULT } from './token-endpoint.js';

/** The address that the library asks for the token of a service account, whatever its file says. */
const SERVICE_ACCOUNT_ENDPOINT = 'https://oauth2.googleapis.com/token';

/** Errors inside of errors that are looked at. */
const CAUSES_MAX = 4;

export interface GoogleParts {
  readonly http: TokenHttp;
  readonly env: NodeJS.ProcessEnv;
  readonly nowMs: () => number;
}

/**
 * Fetches tokens for a service account or by workload identity federation, with Google's library,
 * whose requests go through `http`. Null: with the file that GOOGLE_APPLICATION_CREDENTIALS names,
 * read anew for each token, else of the metadata server, which the library asks by itself.
 * @throws CredentialError when the credential cannot be used
 */
export function googleTokens(
  scope: string,
  credential: string | null,
  { http, env, nowMs }: GoogleParts,
): () => Promise<Issued<string>> {
  const own = credential === null ? null : readCredential(googleFile, 'google', credential);
  return async () => {
    // A new client each time: when it is asked again is decided here, not in its own memory.
    const client = await clientOf(own ?? (await fileOf(env)), scope, http);
    const { token } = await client.getAccessToken().catch((err: unknown) => {
      throw ownReasonOf(err) ?? new CredentialError(`no token of Google: ${codeOf(err)}`);
    });
    if (!token) throw new CredentialError('no token of Google: the answer has none');
    return { value: token, expiresAtMs: client.credentials.expiry_date ?? nowMs() + LIFE_S_DEFAULT * 1_000 };
  };
}

/**
 * Whether a file has the library read what lies around the process: files, addresses, variables.
 */
export function readsSurroundings(credential: string): boolean {
  return readCredential(googleFile, 'google', credential).type === 'external_account';
}

async function fileOf(env: NodeJS.ProcessEnv): Promise<GoogleFile | null> {
  const path = env['GOOGLE_APPLICATION_CREDENTIALS'];
  return path ? readCredential(googleFile, 'google', await readFile(path, 'utf8')) : null;
}

/** @param file null: what the metadata server has */
async function clientOf(file: GoogleFile | null, scope: string, http: TokenHttp): Promise<AuthClient> {
  // Large, and needed by few.
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
  if (client === null) throw new CredentialError('no token of Google: its library takes no such file');
  client.scopes = scopes;
  return client;
}

/** The library's requests, by our rules and bounds. */
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

/**
 * Why a request of ours failed: the library throws it again as the cause of an error of its own.
 */
function ownReasonOf(err: unknown): CredentialError | null {
  let reason = err;
  for (let depth = 0; depth < CAUSES_MAX; depth += 1) {
    if (reason instanceof CredentialError) return reason;
    reason = typeof reason === 'object' && reason !== null && 'cause' in reason ? reason.cause : null;
  }
  return null;
}

/** Of an answer its status. */
function codeOf(err: unknown): string {
  const isAnswered = typeof err === 'object' && err !== null && 'status' in err && typeof err.status === 'number';
  return isAnswered ? `its endpoint answered ${String(err.status)}` : failureCode(err);
}
