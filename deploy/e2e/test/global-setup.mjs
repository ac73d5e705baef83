// One running system for all end-to-end tests that break nothing: they are kept apart by account. Plain JavaScript on
// `dist`, as in production: this file is loaded before any transform exists.
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTraceCollector } from './trace-collector.mjs';

export default async function setup() {
  const dist = new URL('../../local/dist/index.js', import.meta.url);
  if (!existsSync(dist)) throw new Error('the end-to-end tests run the compiled services: run "npm run build" first');
  const { startSystem } = await import(dist.href);
  const stateDirectory = mkdtempSync(join(tmpdir(), 'gateway-e2e-'));
  // The database's own user must be able to pass through.
  chmodSync(stateDirectory, 0o711);
  const collector = await startTraceCollector();
  const lines = [];
  const system = await startSystem({
    stateDirectory,
    port: 0,
    replicas: { 'edge-proxy': 2, admission: 2, billing: 1, accounts: 1, catalog: 1, dashboard: 1 },
    durable: false,
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '100' },
    log: (line) => lines.push(line),
  }).catch((error) => {
    throw new Error(`${lines.join('\n')}\n${error.stack}`);
  });
  system.announce(null);
  writeFileSync(join(stateDirectory, 'collector.json'), JSON.stringify({ url: collector.url }));
  process.env.GATEWAY_E2E_STATE = stateDirectory;
  globalThis.gatewayE2e = { system, collector, stateDirectory };
}

export async function teardown() {
  const { system, collector, stateDirectory } = globalThis.gatewayE2e;
  await system.stop();
  await collector.close();
  rmSync(stateDirectory, { recursive: true, force: true });
}
