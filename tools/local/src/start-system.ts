import { mkdirSync } from 'node:fs';
import { createAddresses } from './addresses.js';
import { Supervisor, killProcesses, makeOuterPorts } from './children/supervisor.js';
import { type Foundations, startFoundations, stopFoundations, logDuration } from './foundations.js';
import { type LocalSystem, type SystemParts, makeLocalSystem } from './local-system.js';
import { migrateAll } from './migrate-all.js';
import { RunningJson } from './running-file.js';
import { type Secrets, loadSecrets } from './secrets.js';
import type { SystemOptions } from './system-options.js';

/** Starts servers, migrates, starts services and simulator, and waits until all are ready. */
export async function startSystem(options: SystemOptions): Promise<LocalSystem> {
  mkdirSync(`${options.stateDirectory}/logs`, { recursive: true, mode: 0o700 });
  const secrets = loadSecrets(options.stateDirectory);
  const file = new RunningJson(options.stateDirectory);
  const onChange = (text: string): void => {
    options.log(text);
    file.rewrite();
  };
  const foundations = await startFoundations(options, secrets, onChange);
  try {
    const parts = await startServices(options, secrets, foundations, onChange);
    return makeLocalSystem({ stateDirectory: options.stateDirectory, secrets, foundations, file, ...parts });
  } catch (error) {
    await stopFoundations(foundations);
    file.remove();
    throw error;
  }
}

/** Starts everything except the foundations. After a failure no process remains. */
async function startServices(
  options: SystemOptions,
  secrets: Secrets,
  foundations: Foundations,
  onChange: (text: string) => void,
): Promise<Pick<SystemParts, 'addresses' | 'supervisor'>> {
  const ports = await makeOuterPorts(options);
  const own = createAddresses(foundations, secrets, { edge: ports.edge[0] ?? 0, dashboard: ports.dashboard[0] ?? 0 });
  const addresses = (await options.through?.(own)) ?? own;
  await logDuration(options, 'migrations', () => migrateAll(foundations.servers.postgres.url, secrets, options.log));
  const supervisor = await Supervisor.make({ options, addresses, secrets, ports, onChange });
  try {
    const starts = () => Promise.all(supervisor.all().flatMap(([, list]) => list.map((child) => child.start())));
    await logDuration(options, 'services', () => Promise.race([starts(), waitForAbort(options.signal)]));
  } catch (error) {
    await killProcesses(supervisor);
    throw error;
  }
  return { addresses, supervisor };
}

/** Rejects when the signal is aborted. */
function waitForAbort(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    const giveUp = () => reject(new Error('start aborted'));
    if (signal?.aborted) giveUp();
    signal?.addEventListener('abort', giveUp, { once: true });
  });
}
