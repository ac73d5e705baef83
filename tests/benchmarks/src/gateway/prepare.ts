import { type CallKind, GATEWAY_MODELS, PROVIDER_MODELS } from '../edge/scenarios.js';
import { type ProcessGroups, readVariable } from '../machine/processes.js';

const RESPONSE_MS_MAX = 30_000;
/** Accounts prepared concurrently. With more, requests time out on a busy machine. */
const PARALLEL = 6;
const PROVIDER = 'bench';
/** A load never exceeds them. */
const LIMITS = { requestsPerMinute: 60_000, concurrency: 5_000 };

/** Sends a request to the operator API. @throws Error with the response if it fails */
type OperatorClient = <T>(method: 'GET' | 'POST' | 'PUT', path: string, body?: object) => Promise<T>;

/**
 * Returns a client of the operator API of a running gateway of any commit. Address and token come
 * from the environment of its dashboard process.
 */
export function createOperatorClient(processes: ProcessGroups): OperatorClient {
  const [port, token] = ['GATEWAY_OPERATOR_PORT', 'GATEWAY_OPERATOR_TOKEN'].map((name) =>
    readVariable(processes, 'dashboard', name),
  );
  return async <T>(method: string, path: string, body?: object): Promise<T> => {
    const response = await fetch(`http://127.0.0.1:${port}/operator/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(RESPONSE_MS_MAX),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? null : JSON.parse(text)) as T;
  };
}

/**
 * Adds to this gateway the provider that all peers call, with a priced model and source for each
 * scenario, and accounts with a credit, raised limits and a key each. Returns the keys.
 */
export async function prepareGateway(processes: ProcessGroups, providerUrl: string, total: number): Promise<string[]> {
  const api = createOperatorClient(processes);
  await api('PUT', `/providers/${PROVIDER}`, { name: 'Simulated provider', format: 'openai' });
  for (const kind of ['plain', 'streamed', 'open'] as const) await prepareModel(api, kind, providerUrl);
  const secrets: string[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < total) secrets.push(await prepareAccount(api, (next += 1)));
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return secrets;
}

async function prepareModel(api: OperatorClient, kind: CallKind, providerUrl: string): Promise<void> {
  const modelId = GATEWAY_MODELS[kind];
  const prices = { inputPerMillion: '0.15', outputPerMillion: '0.60' };
  await api('PUT', `/models/${modelId}`, { displayName: modelId, kind: 'chat', contextLength: 128_000, prices });
  await api('PUT', `/sources/bench-${kind}`, {
    modelId,
    providerId: PROVIDER,
    baseUrl: providerUrl,
    upstreamModel: PROVIDER_MODELS[kind],
    endpoints: ['/v1/chat/completions'],
    streamUsage: true,
    credential: `credential-of-bench-${kind}`,
  });
}

async function prepareAccount(api: OperatorClient, n: number): Promise<string> {
  const [name, email] = [`Called ${n}`, `called-${n}@example.com`];
  const { id } = await api<{ id: string }>('POST', '/accounts', { name, email, emailVerified: true });
  const credit = { amountUsd: '10.00', kind: 'credit', reason: 'Benchmark', reference: `bench-${id}` };
  await api('POST', `/accounts/${id}/wallet/entries`, credit);
  await api('PUT', `/accounts/${id}/limits`, LIMITS);
  const { secret } = await api<{ secret: string | null }>('POST', `/accounts/${id}/keys`, { name: 'Bench' });
  if (secret === null) throw new Error('the created key has no secret');
  return secret;
}
