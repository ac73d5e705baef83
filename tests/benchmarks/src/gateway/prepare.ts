import { type ProcessGroups, readVariable } from '../machine/processes.js';
import { type CallKind, PROVIDER_MODELS } from '../peers/peer.js';

const RESPONSE_MS_MAX = 30_000;
/** Accounts prepared concurrently. With more, requests time out on a busy machine. */
const PARALLEL = 6;
export const CREDIT_NANO_USD = 10_000_000_000n;
const PROVIDER = 'bench';
/** Number of accounts with raised limits. */
export const HOT_ACCOUNTS = 20;
/** The load counts the calls of a key in 16 bits. */
export const HOT_CALLS_PER_MINUTE_MAX = 60_000;
const HOT_LIMITS = { requestsPerMinute: HOT_CALLS_PER_MINUTE_MAX, concurrency: 1_000 };

/** IDs of the provider's models at the gateway. */
export const GATEWAY_MODELS: Readonly<Record<CallKind, string>> = {
  plain: 'bench/plain',
  streamed: 'bench/streamed',
  large: 'bench/plain',
  long: 'bench/long',
  open: 'bench/open',
};

/** Sends a request to the operator API. @throws Error with the response if it fails */
export type OperatorClient = <T>(method: 'GET' | 'POST' | 'PUT', path: string, body?: object) => Promise<T>;

/**
 * Returns a client of the operator API of a running gateway of any commit. Address and token come
 * from the environment of its dashboard process.
 */
export function createOperatorClient(processes: ProcessGroups): OperatorClient {
  const [port, token] = ['GATEWAY_OPERATOR_PORT', 'GATEWAY_OPERATOR_TOKEN'].map((name) =>
    readVariable(processes, 'dashboard', name),
  );
  return async <T>(method: string, path: string, body?: object): Promise<T> => {
    const response = await fetch(`http://127.0.0.1:${port ?? 0}/operator/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token ?? ''}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(RESPONSE_MS_MAX),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? null : JSON.parse(text)) as T;
  };
}

/**
 * Creates the provider that all peers use, with a priced model and source for each kind of calls.
 */
export async function prepareCatalog(api: OperatorClient, providerUrl: string): Promise<void> {
  await api('PUT', `/providers/${PROVIDER}`, { name: 'Simulated provider', format: 'openai' });
  for (const kind of ['plain', 'streamed', 'open'] as const) await prepareModel(api, kind, providerUrl);
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

export interface PreparedAccount {
  readonly account: string;
  readonly secret: string;
}

/** Creates accounts with a credit and a key each. */
export async function prepareAccounts(
  api: OperatorClient,
  total: number,
  name = 'Bench',
  limits: object | null = null,
): Promise<PreparedAccount[]> {
  const prepared: PreparedAccount[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < total) prepared.push(await prepareAccount(api, `${name} ${(next += 1)}`, limits));
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return prepared;
}

async function prepareAccount(api: OperatorClient, name: string, limits: object | null): Promise<PreparedAccount> {
  const email = `${name.toLowerCase().replaceAll(' ', '-')}@example.com`;
  const { id } = await api<{ id: string }>('POST', '/accounts', { name, email, emailVerified: true });
  const credit = { amountUsd: '10.00', kind: 'credit', reason: 'Benchmark', reference: `bench-${id}` };
  await api('POST', `/accounts/${id}/wallet/entries`, credit);
  if (limits !== null) await api('PUT', `/accounts/${id}/limits`, limits);
  const { secret } = await api<{ secret: string | null }>('POST', `/accounts/${id}/keys`, { name: 'Bench' });
  if (secret === null) throw new Error('the created key has no secret');
  return { account: id, secret };
}

/**
 * Prepares parts that the start of another commit may not know: the model with long streams, and
 * accounts with raised limits. @returns keys of these accounts
 */
export async function prepareExtras(processes: ProcessGroups, providerUrl: string): Promise<string[]> {
  const api = createOperatorClient(processes);
  await prepareModel(api, 'long', providerUrl);
  return (await prepareAccounts(api, HOT_ACCOUNTS, 'Bench hot', HOT_LIMITS)).map(({ secret }) => secret);
}
