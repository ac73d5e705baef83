import { resolve } from 'node:path';
import { readArguments } from './arguments.js';
import { watchParents } from './children/watch-parents.js';
import { addRealProviders, realProviders } from './demo/real-providers.js';
import { findDemoModel, seedDemo } from './demo/seed-local.js';
import { choosePorts } from './ports.js';
import { formatReadyText, type ReadyInput } from './print-ready.js';
import { startSystem, type LocalSystem } from './start-system.js';
import { DEFAULT_STATE } from './state-file.js';

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

/** Adds demo data and real providers. */
const prepare = async (started: LocalSystem): Promise<ReadyInput & { readonly demoApiKey: string | null }> => {
  const startedAt = performance.now();
  const demo = await seedDemo(started, stateDirectory, args.demo);
  if (demo.seeded) console.log(`demo data ready in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  const realCalls = await addRealProviders(started.running(), real.providers, process.env, (line) => console.log(line));
  // The host and port of each server, without credentials.
  const places = Object.entries(started.members).map(([name, { url }]) => [name, new URL(url).host] as const);
  return {
    stateDirectory,
    isDefaultState: args.state === undefined,
    mailboxUrl: started.mailboxUrl,
    demoApiKey: demo.apiKey,
    demoPassword: demo.password,
    // Excludes demo models that a real provider now serves, because requests for them cost money.
    demoModel: demo.apiKey === null ? null : await findDemoModel(started),
    realCalls,
    members: args.ha ? Object.fromEntries(places) : null,
  };
};

try {
  const started = await startSystem({
    stateDirectory,
    ports: await choosePorts(args.ports, (line) => console.log(line)),
    replicas: args.replicas,
    ha: args.ha,
    durable: true,
    log: (line) => console.log(line),
    signal: stopping.signal,
  });
  // A signal waits for the demo data, because partial demo data could not be completed later.
  const input = await prepare(started).catch(async (error: unknown) => {
    await started.stop();
    throw error;
  });
  if (stopping.signal.aborted) await end(started);
  system = started;
  system.announce(input.demoApiKey);
  console.log(formatReadyText(system.running(), input));
} catch (error) {
  // An aborted start leaves nothing behind, and its errors are not reported.
  if (stopping.signal.aborted) exitStopped();
  fail(error instanceof Error ? error.message : String(error));
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
