import { until } from '@gateway/testkit';
import type { OwnSystem } from '../../test/own-system.js';
import type { Harm } from './limit-verification.js';

/** From one replica's being ready again to the next kill. */
const PAUSE_MS = { min: 200, span: 1_500 };

/**
 * Kills one replica of admission after the other, any of them, and starts it again; the others go
 * on meanwhile.
 */
export function killAdmissions({ local }: OwnSystem, next: () => number): Harm {
  return async (isOver) => {
    for (let kills = 0; ; kills += 1) {
      // The first one comes early: a short run is over soon.
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
