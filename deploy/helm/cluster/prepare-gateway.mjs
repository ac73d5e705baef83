// Creates a catalog, an account with credit and limits above the load, and its key.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { forward } from './kube.mjs';
import { here, settings } from './settings.mjs';

const PREPARED_MS_MAX = 60_000;
const REQUEST_MS_MAX = 30_000;

/** Returns the secret of the key after a first request with it has succeeded. */
export async function prepareGateway(token) {
  const operator = await forward(`${settings.release}-model-gateway-operator`, 8082);
  const edge = await forward(`${settings.release}-model-gateway-edge-proxy`, 8080);
  const ask = async (method, path, body) => {
    const response = await fetch(`${operator.url}/operator/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_MS_MAX),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  };
  try {
    await ask('POST', '/apply', parse(readFileSync(here('catalog.yaml'), 'utf8')));
    const name = `check-${randomBytes(6).toString('hex')}`;
    const { id } = await ask('POST', '/accounts', { name, email: `${name}@example.com`, emailVerified: true });
    await ask('PUT', `/accounts/${id}/limits`, { requestsPerMinute: 100_000, concurrency: 1_000, maxActiveKeys: 10 });
    await ask('POST', `/accounts/${id}/wallet/entries`, {
      amountUsd: '1000.00',
      kind: 'credit',
      reason: 'check',
      reference: name,
    });
    const { secret } = await ask('POST', `/accounts/${id}/keys`, { name: 'load' });
    await answered(edge.url, secret);
    return secret;
  } finally {
    operator.close();
    edge.close();
  }
}

async function answered(url, secret) {
  const until = Date.now() + PREPARED_MS_MAX;
  for (;;) {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'check/plain', messages: [{ role: 'user', content: 'hello' }] }),
      signal: AbortSignal.timeout(REQUEST_MS_MAX),
    });
    const text = await response.text();
    if (response.ok) return;
    if (Date.now() > until) throw new Error(`the first request failed with ${response.status} ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
