import { setTimeout as delay } from 'node:timers/promises';
import { StallWitness } from '../../test/stall-witness.js';
import type { AttackFigures } from './attack.js';
import { startGoodLoad } from './good-load.js';
import type { AttackKind } from './kinds.js';
import { runAttack } from './run-attack.js';
import type { StrangersWorld } from './strangers-world.js';
import { Tally, type GoodCounts } from './tally.js';
import { watchMemory, type MemorySample } from './watch-memory.js';

/** One attack, and the valid requests that began during it. */
export interface AttackSeen {
  readonly kind: AttackKind;
  readonly fromMs: number;
  readonly toMs: number;
  /** Null: the attacker failed. */
  readonly figures: AttackFigures | null;
  readonly good: GoodCounts;
}

export interface StrangersSeen {
  /** Valid requests before the first attack. */
  readonly before: GoodCounts;
  readonly attacks: readonly AttackSeen[];
  readonly memory: readonly MemorySample[];
  readonly lengthMs: number;
}

export interface TurnOptions {
  readonly kinds: readonly AttackKind[];
  readonly secondsEach: number;
  readonly connectionsMax: number;
  /** Pause between two attacks. */
  readonly restMs?: number;
  readonly onAttack?: (seen: AttackSeen) => void;
}

/** Duration of the valid load before the first attack. */
const QUIET_MS = 2_000;

/** Runs one attack after the other during the valid load. */
export async function attackInTurn(world: StrangersWorld, options: TurnOptions): Promise<StrangersSeen> {
  const { kinds, secondsEach: seconds, connectionsMax, restMs = 0, onAttack } = options;
  // Does not watch Redis: a stall of Redis is an effect of the attack.
  const witness = new StallWitness(null);
  const quiet = new Tally(witness);
  const load = await startGoodLoad(world.good, quiet);
  const memory = watchMemory(world.system.local);
  const beganMs = performance.now();
  const attacks: AttackSeen[] = [];
  try {
    await delay(QUIET_MS);
    for (const kind of kinds) {
      const tally = new Tally(witness);
      load.countIn(tally);
      const fromMs = performance.now() - beganMs;
      const figures = await runAttack({ kind, target: world.attacked, seconds, connectionsMax });
      const seen = { kind, fromMs, toMs: performance.now() - beganMs, figures, good: tally.counts };
      attacks.push(seen);
      // The system recovers from the attack during the pause, so the results are discarded.
      if (restMs > 0) load.countIn(new Tally(witness));
      await delay(restMs);
      onAttack?.(seen);
    }
  } finally {
    await load.stop();
    await witness.stop();
    memory.stop();
  }
  return { before: quiet.counts, attacks, memory: memory.samples, lengthMs: performance.now() - beganMs };
}
