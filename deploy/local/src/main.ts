import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readArguments } from './arguments.js';
import { watchParents } from './children/watch-parents.js';
import { seedDemo } from './demo/seed-demo.js';
import { choosePorts } from './ports.js';
import { readyText } from './print-ready.js';
import { startSystem } from './start-system.js';
import type { LocalSystem } from './start-system.js';

const DEFAULT_STATE = fileURLToPath(new URL('../../../.state', import.meta.url));

const args = readArguments(process.argv.slice(2));
if ('problems' in args) fail(args.problems.join('\n'));
const stateDirectory = resolve(args.state ?? DEFAULT_STATE);

let system: LocalSystem | null = null;
let signals = 0;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void onSignal(signal));
watchParents(() => void onSignal('the end of npm'));

try {
  system = await startSystem({
    stateDirectory,
    ...(await choosePorts(stateDirectory, args.port, (line) => console.log(line))),
    replicas: args.replicas,
    durable: true,
    log: (line) => console.log(line),
  });
  // A signal that came while the system was starting.
  if (signals > 0) await end(system);
  const startedAt = performance.now();
  const demo = await seedDemo(system, stateDirectory, args.demo);
  if (demo.seeded) console.log(`demo data ready in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  system.announce(demo.apiKey);
  console.log(readyText(system.running(), stateDirectory));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  await system?.stop();
  process.exit(1);
}

/** The first signal stops in order, the second one ends everything at once. */
async function onSignal(signal: string): Promise<void> {
  signals += 1;
  console.log(signals === 1 ? `\n${signal}: stopping (again: at once)` : 'ending everything at once');
  if (system) await end(system);
  else if (signals > 1) process.exit(1);
}

async function end(started: LocalSystem): Promise<never> {
  await started.stop();
  console.log('stopped');
  process.exit(0);
}

function fail(text: string): never {
  console.error(text);
  process.exit(1);
}
