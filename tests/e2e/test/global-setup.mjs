// Starts one system for all end-to-end tests that break nothing. The tests are separated by
// account. This file is plain JavaScript that uses `dist`, because it is loaded before any
// transform exists.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTraceCollector } from './trace-collector.mjs';

export default async function setup() {
  const dist = new URL('../../../tools/local/dist/index.js', import.meta.url);
  if (!existsSync(dist)) throw new Error('the end-to-end tests run the compiled services: run "npm run build" first');
  const { startSystem } = await import(dist.href);
  const template = await makeTemplate(startSystem);
  const stateDirectory = newDirectory('gateway-e2e-');
  if (template !== null) execFileSync('cp', ['-a', `${template}/.`, stateDirectory]);
  const collector = await startTraceCollector();
  const lines = [];
  const system = await startSystem({
    stateDirectory,
    replicas: { 'edge-proxy': 2, admission: 2 },
    durable: false,
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      // Tests start their own traces.
      GATEWAY_TRUST_CLIENT_TRACES: 'on',
      // No test of this system tests a timeout: a slow machine must not fail them.
      GATEWAY_TEST_CONTROLS: 'on',
      GATEWAY_TIMEOUT_MIN_MS: '60000',
    },
    log: (line) => lines.push(line),
  }).catch((error) => {
    throw new Error(`${lines.join('\n')}\n${error.stack}`);
  });
  system.announce(null);
  writeFileSync(join(stateDirectory, 'collector.json'), JSON.stringify({ url: collector.url }));
  process.env.GATEWAY_E2E_STATE = stateDirectory;
  if (template !== null) process.env.GATEWAY_E2E_TEMPLATE = template;
  globalThis.gatewayE2e = {
    system,
    collector,
    directories: [stateDirectory, ...(template === null ? [] : [template])],
  };
}

const NOTHING = { 'edge-proxy': 0, admission: 0, billing: 0, accounts: 0, catalog: 0, dashboard: 0 };

/**
 * Creates the state of a system that has migrated and stopped. Every other system of the run starts
 * from a copy, because creating a database and its tables takes half of a start. Null if the
 * database's files are outside the state.
 */
async function makeTemplate(startSystem) {
  const stateDirectory = newDirectory('gateway-e2e-template-');
  const settings = { durable: false, env: {}, log: () => undefined };
  const system = await startSystem({ stateDirectory, replicas: NOTHING, ...settings });
  await system.stop();
  if (!lstatSync(join(stateDirectory, 'servers', 'postgres'), { throwIfNoEntry: false })?.isDirectory()) {
    rmSync(stateDirectory, { recursive: true, force: true });
    return null;
  }
  return stateDirectory;
}

function newDirectory(prefix) {
  const directory = mkdtempSync(join(tmpdir(), prefix));
  // The database's user must be able to enter the directory.
  chmodSync(directory, 0o711);
  return directory;
}

export async function teardown() {
  const { system, collector, directories } = globalThis.gatewayE2e;
  await system.stop();
  await collector.close();
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
}
