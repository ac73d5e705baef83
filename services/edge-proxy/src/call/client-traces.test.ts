import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTelemetry, type Telemetry } from '@gateway/service-kit';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chat, send } from '../../test/client.js';
import { startEdgeWorld } from '../../test/edge-world.js';

const TRACE = '0123456789abcdef0123456789abcdef';
const SAMPLED = `00-${TRACE}-0123456789abcdef-01`;

let collector: Server;
let telemetry: Telemetry;
beforeAll(async () => {
  collector = createServer((request, response) => void request.resume().on('end', () => response.end('{}')));
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const otlpEndpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  telemetry = startTelemetry({ service: 'edge-proxy', replica: 'one', version: '1', otlpEndpoint });
});
afterAll(async () => {
  await telemetry.shutdown();
  collector.close();
});

test.each<[string, Record<string, string>, boolean]>([
  ['not taken', {}, false],
  ['accepted behind a trusted proxy', { GATEWAY_EDGE_PROXIES: '1' }, true],
  ['accepted if enabled', { GATEWAY_TRUST_CLIENT_TRACES: 'on' }, true],
  ['ignored if disabled', { GATEWAY_EDGE_PROXIES: '1', GATEWAY_TRUST_CLIENT_TRACES: 'off' }, false],
])(
  "a client's sampled trace is %s",
  async (_name, env, isTaken) => {
    const world = await startEdgeWorld({ env });
    try {
      const call = chat();
      const headers = { ...call.headers, traceparent: SAMPLED };
      expect((await send(world.edge.url, '/v1/chat/completions', { ...call, headers })).status).toBe(200);
      const traced = world.admission.admits[0]?.entry.traceparent;
      expect(traced?.slice(3, 35)).toBe(isTaken ? TRACE : undefined);
    } finally {
      await world.stop();
    }
  },
  30_000,
);
