import { readFile } from 'node:fs/promises';
import { CredentialError, type TokenHttp } from '../ports.js';
import { entraApplication, readCredential } from './credential-text.js';
import type { IssuedCredential } from './expiring-credential.js';
import { requestToken } from './token-endpoint.js';

const AUTHORITY_HOST_DEFAULT = 'https://login.microsoftonline.com';
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

export interface EntraParts {
  readonly http: TokenHttp;
  readonly env: NodeJS.ProcessEnv;
  readonly nowMs: () => number;
}

/**
 * Fetches tokens of Entra ID with client credentials. If `credential` is null, uses the workload
 * identity of the environment (AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_FEDERATED_TOKEN_FILE,
 * AZURE_AUTHORITY_HOST), whose file is read again for each token.
 * @throws CredentialError if the credential cannot be used
 */
export function makeEntraFetcher(
  scope: string,
  credential: string | null,
  { http, env, nowMs }: EntraParts,
): () => Promise<IssuedCredential<string>> {
  const { tenantId, clientId, authorityHost, proof } = credential === null ? workload(env) : application(credential);
  const base = (authorityHost ?? AUTHORITY_HOST_DEFAULT).replace(/(?<!\/)\/+$/, '');
  const url = `${base}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`;
  return async () => {
    const form = { grant_type: 'client_credentials', client_id: clientId, scope, ...(await proof()) };
    return requestToken(http, url, form, nowMs());
  };
}

interface EntraClient {
  readonly tenantId: string;
  readonly clientId: string;
  readonly authorityHost: string | undefined;
  /** Returns the form fields that authenticate the client. */
  readonly proof: () => Promise<Readonly<Record<string, string>>>;
}

function application(credential: string): EntraClient {
  const { clientSecret, authorityHost, ...ids } = readCredential(entraApplication, 'entra', credential);
  return { ...ids, authorityHost, proof: () => Promise.resolve({ client_secret: clientSecret }) };
}

function workload(env: NodeJS.ProcessEnv): EntraClient {
  const [tenantId, clientId, file] = ['AZURE_TENANT_ID', 'AZURE_CLIENT_ID', 'AZURE_FEDERATED_TOKEN_FILE'].map(
    (name) => {
      const value = env[name];
      if (value) return value;
      throw new CredentialError(`no workload identity of Entra ID: ${name} is not set`);
    },
  ) as [string, string, string];
  const proof = async (): Promise<Record<string, string>> => ({
    client_assertion_type: ASSERTION_TYPE,
    client_assertion: (await readFile(file, 'utf8')).trim(),
  });
  return { tenantId, clientId, authorityHost: env['AZURE_AUTHORITY_HOST'] || undefined, proof };
}
