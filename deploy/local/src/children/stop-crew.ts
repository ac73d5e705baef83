import { SERVICES, type ProcessName } from '../processes.js';
import { DRAIN_MS, type Crew } from './crew.js';

const STOP_ORDER: readonly ProcessName[] = [...SERVICES.slice(0, 1), 'provider-simulator', ...SERVICES.slice(1)];
const STOP_GRACE_MS = 15_000;
/** An edge whose calls do not end, and whose usage nobody takes, leaves it in a file only then. */
const EDGE_STOP_GRACE_MS = DRAIN_MS + 20_000;

/** Edges first: they finish their calls; then what they need. */
export async function stopCrew(crew: Crew): Promise<void> {
  for (const name of STOP_ORDER) {
    await Promise.all(
      crew.withRetiring(name).map((child) => child.stop(name === 'edge-proxy' ? EDGE_STOP_GRACE_MS : STOP_GRACE_MS)),
    );
  }
}

/** All at once, whatever they do. */
export async function killCrew(crew: Crew): Promise<void> {
  await Promise.all(STOP_ORDER.flatMap((name) => crew.withRetiring(name)).map((child) => child.stop(0, 'SIGKILL')));
}
