import { Client } from 'undici';
import { PrivateAddressError, isPrivateHost } from '@gateway/service-kit';
import { CredentialError, type TokenResponse, type TokenHttp, type TokenRequest } from '../ports.js';
import { type ConnectionRules, makeConnector, findPrivateHost } from '../upstream/source-connector.js';
import { findFailureCode } from './credential-text.js';

/** Timeout for a whole request, connection included. */
const REQUEST_MS_MAX = 8_000;
/** Largest response. A token has a few KiB. */
const ANSWER_BYTES_MAX = 256 * 1024;

/**
 * Sends requests to token endpoints under the same connection rules as sources. Each request uses a
 * new connection, since requests are about an hour apart.
 */
export class TokenConnections implements TokenHttp {
  readonly #rules: ConnectionRules;

  constructor(rules: ConnectionRules) {
    this.#rules = rules;
  }

  async ask({ url, method, headers, body }: TokenRequest): Promise<TokenResponse> {
    const { protocol, origin, hostname, pathname, search } = new URL(url);
    if (protocol !== 'https:' && !isPrivateHost(hostname))
      throw new CredentialError(`its endpoint ${hostname} must use https`);
    const refused = findPrivateHost(hostname, this.#rules);
    if (refused !== null) throw new CredentialError(new PrivateAddressError(refused).message);
    const client = new Client(origin, { connect: makeConnector(hostname, this.#rules), allowH2: false });
    try {
      const signal = AbortSignal.timeout(REQUEST_MS_MAX);
      const answer = await client.request({ path: pathname + search, method, headers, body, signal });
      const text = await textOf(answer.body);
      return { status: answer.statusCode, headers: plainHeaders(answer.headers), body: text };
    } catch (err) {
      if (err instanceof CredentialError) throw err;
      const reason = err instanceof PrivateAddressError ? err.message : findFailureCode(err);
      throw new CredentialError(`its endpoint ${hostname}: ${reason}`);
    } finally {
      client.destroy(() => undefined);
    }
  }
}

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new CredentialError('the response of the token endpoint is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function plainHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}
