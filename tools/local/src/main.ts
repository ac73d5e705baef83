import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readArguments } from './arguments.js';
import { watchParents } from './children/watch-parents.js';
import { addRealProviders, realProviders, type RealCall } from './demo/real-providers.js';
import { findDemoModel, seedDemo, type DemoData } from './demo/seed-demo.js';
import type { LocalSystem } from './local-system.js';
import { choosePorts } from './ports.js';
import { formatReadyText } from './print-ready.js';
import { startSystem } from './start-system.js';

const DEFAULT_STATE = fileURLToPath(new URL('../../../.state', import.meta.url));

const args = readArguments(process.argv.slice(2));
if ('problems' in args) fail(args.problems.join('\n'));
const real = realProviders(args.providers, args.providerUrls, process.env);
if (real.problems.length > 0) fail(real.problems.join('\n'));
const stateDirectory = resolve(args.state ?? DEFAULT_STATE);

/** npm also forwards the terminal's signal, so one Ctrl-C may arrive twice within this time. */
const SAME_PRESS_MS = 500;

let system: LocalSystem | null = null;
let stoppedAt = 0;
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void onSignal(signal));
watchParents(() => {
  // The end of npm during the stop does not count as a second signal.
  if (!stopping.signal.aborted) void onSignal('npm ended');
});

try {
  const started = await startSystem({
    stateDirectory,
    ...(await choosePorts(stateDirectory, args, (line) => console.log(line))),
    replicas: args.replicas,
    ha: args.ha,
    durable: true,
    log: (line) => console.log(line),
    signal: stopping.signal,
  });
  // A signal waits for the demo data, because partial demo data could not be completed later.
  const demo = await seed(started, args.demo);
  const realCalls = await addReal(started);
  // Excludes demo models that a real provider now serves, because requests for them cost money.
  const demoModel = demo.apiKey !== null && realCalls.length > 0 ? await findDemoModel(started) : demo.model;
  if (stopping.signal.aborted) await end(started);
  system = started;
  system.announce(demo.apiKey);
  const { mailboxUrl } = system;
  const members = args.ha ? placesOf(system) : null;
  const isDefaultState = args.state === undefined;
  const input = {
    stateDirectory,
    isDefaultState,
    mailboxUrl,
    demoPassword: demo.password,
    demoModel,
    realCalls,
    members,
  };
  console.log(formatReadyText(system.running(), input));
} catch (error) {
  // An aborted start leaves nothing behind, and its errors are not reported.
  if (stopping.signal.aborted) exitStopped();
  fail(error instanceof Error ? error.message : String(error));
}

/** Returns the host and port of each server, without credentials. */
function placesOf({ members }: LocalSystem): Record<string, string> {
  return Object.fromEntries(Object.entries(members).map(([name, { url }]) => [name, new URL(url).host]));
}

async function seed(started: LocalSystem, force: boolean): Promise<DemoData> {
  const startedAt = performance.now();
  try {
    const demo = await seedDemo(started, stateDirectory, force);
    if (demo.seeded) console.log(`demo data ready in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    return demo;
  } catch (error) {
    await started.stop();
    throw error;
  }
}

async function addReal(started: LocalSystem): Promise<RealCall[]> {
  try {
    return await addRealProviders(started.running(), real.providers, process.env, (line) => console.log(line));
  } catch (error) {
    await started.stop();
    throw error;
  }
}

/** The first signal stops in order; the second one kills everything at once. */
async function onSignal(signal: string): Promise<void> {
  const again = stopping.signal.aborted;
  if (again && performance.now() - stoppedAt < SAME_PRESS_MS) return;
  console.log(again ? 'stopping everything at once' : `\n${signal}: stopping (repeat to stop at once)`);
  if (!again) stoppedAt = performance.now();
  stopping.abort();
  if (system) await end(system);
  else if (again) process.exit(1);
}

async function end(started: LocalSystem): Promise<never> {
  await started.stop();
  return exitStopped();
}

function exitStopped(): never {
  console.log('stopped');
  process.exit(0);
}

function fail(text: string): never {
  console.error(text);
  process.exit(1);
}
