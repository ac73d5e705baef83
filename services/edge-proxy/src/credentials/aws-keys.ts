import { Readable } from 'node:stream';
import { failureCode } from './credential-text.js';
import { CredentialError, type TokenHttp } from '../ports.js';
import type { AwsKeys } from './credential-text.js';
import type { Issued } from './expiring-credential.js';

export interface AwsParts {
  readonly http: TokenHttp;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Fetches keys by the default chain of AWS: environment, shared files, web identity (IRSA),
 * container (ECS, EKS Pod Identity), instance metadata. The token service is asked through `http`,
 * agents and metadata by the library itself: their addresses are link-local. Each can be set by
 * AWS's own variables.
 * @param region whose token service is asked where neither AWS_REGION nor a profile names one
 */
export function awsSurroundings(region: string, { http, env }: AwsParts): () => Promise<Issued<AwsKeys>> {
  // Not in `clientConfig`: there it would also replace the region of a profile's single sign-on.
  const parentClientConfig = { region: () => Promise.resolve(env['AWS_REGION'] || region) };
  const clientConfig = { requestHandler: handlerThrough(http) };
  return async () => {
    // Large, and needed by few.
    const { defaultProvider } = await import('@aws-sdk/credential-provider-node');
    // A new chain each time, and files read again: when it is asked again is decided here, not in
    // its own memory.
    const keys = await defaultProvider({ clientConfig, parentClientConfig, ignoreCache: true })().catch(
      (err: unknown) => {
        throw err instanceof CredentialError
          ? err
          : new CredentialError(`the credential chain of AWS has none: ${failureCode(err)}`);
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

/** The library's requests, by our rules and bounds. */
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
