import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { counter } from '../index.js';
import { startTelemetry } from './telemetry.js';

afterEach(() => {
  delete process.env['OTEL_SDK_DISABLED'];
});

test('OTEL_SDK_DISABLED disables tracing but not metrics', async () => {
  process.env['OTEL_SDK_DISABLED'] = 'true';
  counter('gateway_test_total', 'Counts for a test.').add();
  const telemetry = startTelemetry({ service: 's', replica: 'r', version: '1', otlpEndpoint: 'http://127.0.0.1:1' });
  const server = createServer(telemetry.metrics).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect(await answer.text()).toMatch(/^gateway_test_total\S* 1$/m);
  } finally {
    server.close();
    await telemetry.shutdown();
  }
});
