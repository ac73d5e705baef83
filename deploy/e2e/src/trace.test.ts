import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import got from 'got';
import { startProviderSimulator } from '@gateway/provider-simulator';
import type { ProviderSimulator } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { sharedSystem } from '../test/system.js';
import type { SharedSystem } from '../test/system.js';

interface CollectedSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
}

let system: SharedSystem;
let simulator: ProviderSimulator;
beforeAll(async () => {
  system = sharedSystem();
  simulator = await startProviderSimulator();
});
afterAll(async () => {
  await simulator.close();
});

test('one call is one trace through edge, admission and billing; a call without the flag leaves none', async () => {
  const { secret } = await system.operator.account('5.00');
  const model = await system.operator.model({ inputPerMillion: '1.00', outputPerMillion: '2.00' }, [simulator.urls[0]]);
  const traceId = randomBytes(16).toString('hex');
  const call = async (flag: '00' | '01', trace: string) =>
    got.post(`${system.chatBaseUrl}/chat/completions`, {
      headers: { authorization: `Bearer ${secret}`, traceparent: `00-${trace}-${'1'.repeat(16)}-${flag}` },
      json: { model: model.id, messages: [{ role: 'user', content: 'hi' }] },
      retry: { limit: 0 },
      timeout: { request: 10_000 },
    });
  const silent = randomBytes(16).toString('hex');
  await call('00', silent);
  await call('01', traceId);
  const spans = await until('spans of three services', async () => {
    const all = await got(`${system.collectorUrl}/spans`, { timeout: { request: 5_000 } }).json<CollectedSpan[]>();
    expect(all.filter((span) => span.traceId === silent)).toEqual([]);
    const own = all.filter((span) => span.traceId === traceId);
    return new Set(own.map((span) => span.service)).size >= 3 && own;
  });
  expect(new Set(spans.map((span) => span.service))).toEqual(new Set(['edge-proxy', 'admission', 'billing']));
  const ids = new Set(spans.map((span) => span.spanId));
  const roots = spans.filter((span) => !ids.has(span.parentSpanId));
  expect(roots).toMatchObject([{ service: 'edge-proxy', parentSpanId: '1'.repeat(16) }]);
});
