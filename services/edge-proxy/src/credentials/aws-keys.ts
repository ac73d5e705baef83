import { Readable } from 'node:stream';
import { findFailureCode } from './credential-text.js';
import { CredentialError, type TokenHttp } from '../ports.js';
import type { AwsKeys } from './credential-text.js';
import type { IssuedCredential } from './expiring-credential.js';

export interface AwsDependencies {
  readonly http: TokenHttp;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Fetches keys with the default credential chain of AWS: environment, shared files, web identity
 * (IRSA), container (ECS, EKS Pod Identity), instance metadata. Requests to the token service go
 * through `http`. The library itself contacts agents and metadata servers, since their addresses
 * are link-local. AWS's own variables can set each of them.
 * @param region region of the token service if neither AWS_REGION nor a profile names one
 */
export function fetchAwsKeys(region: string, { http, env }: AwsDependencies): () => Promise<IssuedCredential<AwsKeys>> {
  // In `clientConfig` it would also replace the region of a profile's single sign-on.
  const parentClientConfig = { region: () => Promise.resolve(env['AWS_REGION'] || region) };
  const clientConfig = { requestHandler: handlerThrough(http) };
  return async () => {
    // Loaded on demand: the library is large, and few deployments need it.
    const { defaultProvider } = await import('@aws-sdk/credential-provider-node');
    // Creates a new chain and reads the files again each time. ExpiringCredential decides when to
    // fetch, so the library must not cache.
    const keys = await defaultProvider({ clientConfig, parentClientConfig, ignoreCache: true })().catch(
      (err: unknown) => {
        throw err instanceof CredentialError
          ? err
          : new CredentialError(`the AWS credential chain has no credential: ${findFailureCode(err)}`);
      },
    );
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = keys;
    return {
      value: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
      expiresAtMs: expiration?.getTime() ?? null,
    };
  };
}

/** A request of the library's clients. */
interface AwsRequest {
  readonly method: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[] | null>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** Applies the edge's connection rules and limits to the library's requests. */
function handlerThrough(http: TokenHttp) {
  return {
    async handle({ method, protocol, hostname, port, path, query = {}, headers, body = '' }: AwsRequest) {
      const { host: _host, 'content-length': _length, ...own } = headers;
      const answer = await http.ask({
        url: `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}${queryText(query)}`,
        method: method === 'GET' ? 'GET' : 'POST',
        headers: own,
        body: method === 'GET' ? null : typeof body === 'string' ? body : Buffer.from(body).toString(),
      });
      const { status: statusCode, headers: answered, body: text } = answer;
      return { response: { statusCode, headers: answered, body: Readable.from([Buffer.from(text)]) } };
    },
  };
}

function queryText(query: NonNullable<AwsRequest['query']>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of [value ?? ''].flat()) parameters.append(name, one);
  return parameters.size === 0 ? '' : `?${parameters}`;
}
