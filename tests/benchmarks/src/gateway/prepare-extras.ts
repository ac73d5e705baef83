import type { ProcessGroups } from '../machine/read-cpu.js';
import { PROVIDER_MODELS } from '../peers/peer.js';
import { HOT_ACCOUNTS } from '../scenarios.js';
import { createOperatorClient } from './operator-api.js';
import type { OperatorClient } from './operator-api.js';
import { CREDIT_USD } from './prepare-accounts.js';
import { GATEWAY_MODELS, PRICES, PROVIDER } from './prepare-catalog.js';

/** Limit of the load, which counts the calls of a key in 16 bits. */
export const HOT_CALLS_PER_MINUTE_MAX = 60_000;
const HOT_CALLS_AT_A_TIME_MAX = 1_000;

/**
 * Prepares parts that the start of another commit may not know: the model with long streams, and
 * accounts with raised limits. Uses the operator API, which is the same at every commit.
 * @returns keys of these accounts
 * @throws Error if the API refuses
 */
export async function prepareExtras(processes: ProcessGroups, providerUrl: string): Promise<string[]> {
  const ask = createOperatorClient(processes);
  await ask('PUT', `/models/${GATEWAY_MODELS.long}`, {
    displayName: GATEWAY_MODELS.long,
    kind: 'chat',
    contextLength: 128_000,
    prices: PRICES,
  });
  await ask('PUT', '/sources/bench-long', {
    modelId: GATEWAY_MODELS.long,
    providerId: PROVIDER,
    baseUrl: providerUrl,
    upstreamModel: PROVIDER_MODELS.long,
    endpoints: ['/v1/chat/completions'],
    streamUsage: true,
    credential: 'credential-of-bench-long',
  });
  const hotSecrets: string[] = [];
  for (let n = 1; n <= HOT_ACCOUNTS; n += 1) hotSecrets.push(await prepareHot(ask, n));
  return hotSecrets;
}

async function prepareHot(ask: OperatorClient, n: number): Promise<string> {
  const { id } = await ask<{ id: string }>('POST', '/accounts', {
    name: `Bench hot ${n}`,
    email: `bench-hot-${n}@example.com`,
    emailVerified: true,
  });
  await ask('POST', `/accounts/${id}/wallet/entries`, {
    amountUsd: CREDIT_USD,
    kind: 'credit',
    reason: 'Benchmark',
    reference: `bench-${id}`,
  });
  await ask('PUT', `/accounts/${id}/limits`, {
    requestsPerMinute: HOT_CALLS_PER_MINUTE_MAX,
    concurrency: HOT_CALLS_AT_A_TIME_MAX,
  });
  const { secret } = await ask<{ secret: string | null }>('POST', `/accounts/${id}/keys`, { name: 'Bench' });
  if (secret === null) throw new Error('the created key has no secret');
  return secret;
}
