import { until } from '@gateway/testkit';
import type { OwnSystem } from '../../test/own-system.js';
import type { Harm } from './limit-verification.js';

/** Pause between the restart of a replica and the next kill. */
const PAUSE_MS = { min: 200, span: 1_500 };

/**
 * Repeatedly kills a random replica of admission and starts it again. The other replicas run on.
 */
export function killAdmissions({ local }: OwnSystem, next: () => number): Harm {
  return async (isOver) => {
    for (let kills = 0; ; kills += 1) {
      // The first kill comes early because a run may be short.
      const at = performance.now() + PAUSE_MS.min + (kills === 0 ? 0 : next() * PAUSE_MS.span);
      await until('the time of the next kill', () => isOver() || performance.now() > at);
      if (isOver()) return kills;
      const replicas = local.children('admission');
      const victim = replicas[Math.floor(next() * replicas.length)];
      await victim?.stop(0, 'SIGKILL');
      await victim?.start();
    }
  };
}
