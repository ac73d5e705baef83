import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A token endpoint that the test controls. */
export interface TokenEndpoint {
  readonly url: string;
  /** The requests that it received, in order. */
  readonly asked: readonly TokenRequestRecord[];
  /** Lifetime of tokens issued from now on, in seconds. */
  lifeS: number;
  /** `hang` delays the responses until {@link TokenEndpoint.releaseHeld} is called. */
  answers: 'issue' | 'fail' | 'hang';
  releaseHeld(): void;
  /** Whether the endpoint issued this token, which is neither expired nor revoked. */
  isGood(token: string): boolean;
  /** Revokes all tokens issued so far. */
  revoke(): void;
  stop(): Promise<void>;
}

export interface TokenRequestRecord {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** @param answer returns the response body for a new token; OAuth's by default */
export async function startTokenEndpoint(
  answer: (token: string, lifeS: number, asked: TokenRequestRecord) => unknown = (access_token, expires_in) => ({
    token_type: 'Bearer',
    access_token,
    expires_in,
  }),
): Promise<TokenEndpoint> {
  const asked: TokenRequestRecord[] = [];
  const goodUntilMs = new Map<string, number>();
  const waiting: (() => void)[] = [];
  const issue = (response: ServerResponse, question: TokenRequestRecord): void => {
    const token = `token-${goodUntilMs.size + 1}`;
    goodUntilMs.set(token, Date.now() + endpoint.lifeS * 1_000);
    const body = answer(token, endpoint.lifeS, question);
    const isJson = typeof body !== 'string';
    response.writeHead(200, {
      'content-type': isJson ? 'application/json' : 'text/xml',
      'metadata-flavor': 'Google',
    });
    response.end(isJson ? JSON.stringify(body) : body);
  };
  const { server, url } = await serve((request, response, body) => {
    const { method = '', url: path = '', headers } = request;
    const question = { method, path, headers, body };
    asked.push(question);
    if (endpoint.answers === 'issue') return issue(response, question);
    if (endpoint.answers === 'hang') return void waiting.push(() => issue(response, question));
    response.writeHead(500, { 'content-type': 'application/json' });
    response.end('{"error":"temporarily_unavailable","error_description":"quotes secret-of-the-client"}');
  });
  const endpoint: TokenEndpoint = {
    url,
    asked,
    lifeS: 3_600,
    answers: 'issue',
    releaseHeld: () => {
      for (const go of waiting.splice(0)) go();
    },
    isGood: (token) => (goodUntilMs.get(token) ?? 0) > Date.now(),
    revoke: () => {
      for (const token of goodUntilMs.keys()) goodUntilMs.set(token, 0);
    },
    stop: () => stop(server),
  };
  return endpoint;
}

/** A provider that accepts requests by the test's rule, and answers all others with 401. */
export interface GuardedProvider {
  readonly url: string;
  readonly asked: readonly (TokenRequestRecord & { readonly isLetIn: boolean })[];
  stop(): Promise<void>;
}

export async function startGuardedProvider(letsIn: (request: TokenRequestRecord) => boolean): Promise<GuardedProvider> {
  const asked: (TokenRequestRecord & { isLetIn: boolean })[] = [];
  const { server, url } = await serve((request, response, body) => {
    const { method = '', url: path = '', headers } = request;
    const question = { method, path, headers, body };
    const isLetIn = letsIn(question);
    asked.push({ ...question, isLetIn });
    response.writeHead(isLetIn ? 200 : 401, { 'content-type': 'application/json' });
    response.end(isLetIn ? ANSWER : '{"error":{"message":"Access denied","code":"401"}}');
  });
  return { url, asked, stop: () => stop(server) };
}

/** Returns the bearer token of a request. */
export function findBearer({ headers }: Pick<TokenRequestRecord, 'headers'>): string {
  return headers.authorization?.replace(/^Bearer /, '') ?? '';
}

const ANSWER = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
});

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

async function serve(handler: Handler): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => handler(request, response, Buffer.concat(chunks).toString()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
