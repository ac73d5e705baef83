import { SERVICES, type ProcessName } from '../processes.js';
import { DRAIN_MS, type Supervisor } from './supervisor.js';

const STOP_ORDER: readonly ProcessName[] = [...SERVICES.slice(0, 1), 'provider-simulator', ...SERVICES.slice(1)];
const STOP_GRACE_MS = 15_000;
/** Includes the time after the last call, in which an edge writes undelivered usage. */
const EDGE_STOP_GRACE_MS = DRAIN_MS + 20_000;

/** Stops first the edges, which finish their calls, then the processes that they depend on. */
export async function stopProcesses(supervisor: Supervisor): Promise<void> {
  for (const name of STOP_ORDER) {
    await Promise.all(
      supervisor
        .withRetiring(name)
        .map((child) => child.stop(name === 'edge-proxy' ? EDGE_STOP_GRACE_MS : STOP_GRACE_MS)),
    );
  }
}

/** Kills all processes at once. */
export async function killProcesses(supervisor: Supervisor): Promise<void> {
  await Promise.all(
    STOP_ORDER.flatMap((name) => supervisor.withRetiring(name)).map((child) => child.stop(0, 'SIGKILL')),
  );
}
