import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type LocalSystem, SERVICES } from '@gateway/local';
import type { SeededRandom } from '@gateway/testkit/random';
import type { AttackBounds, AttackFigures, AttackTarget } from './attack.js';
import type { AttackedSystem } from './attacked-system.js';
import { type AttackKind, startAttack } from './attacks.js';
import { Tally, startValidLoad, type ValidCounts } from './valid-load.js';

/** One attack, and the valid requests that began during it. */
export interface AttackSeen {
  readonly kind: AttackKind;
  readonly fromMs: number;
  readonly toMs: number;
  /** Null: the attacker failed. */
  readonly figures: AttackFigures | null;
  readonly valid: ValidCounts;
}

export interface AttacksSeen {
  /** Valid requests before the first attack. */
  readonly before: ValidCounts;
  readonly attacks: readonly AttackSeen[];
  readonly memory: readonly MemorySample[];
  readonly lengthMs: number;
}

export interface TurnOptions {
  readonly kinds: readonly AttackKind[];
  readonly secondsEach: number;
  readonly connectionsMax: number;
  readonly onAttack?: (seen: AttackSeen) => void;
}

/** Duration of the valid load before the first attack. */
const QUIET_MS = 2_000;
/** Rounds of all kinds. Each measurement of memory then contains two of them. */
const ROUNDS = 12;

/** Plans the attacks in a random order for each round, and their duration. */
export function planTurns(
  kinds: readonly AttackKind[],
  minutes: number,
  random: SeededRandom,
): Pick<TurnOptions, 'kinds' | 'secondsEach'> {
  const turns = Array.from({ length: ROUNDS }, () => {
    const left = [...kinds];
    return kinds.flatMap(() => left.splice(random.below(left.length), 1));
  }).flat();
  return { kinds: turns, secondsEach: (minutes * 60) / turns.length };
}

/** Runs one attack after the other during the valid load. */
export async function attackInTurn(system: AttackedSystem, options: TurnOptions): Promise<AttacksSeen> {
  const { kinds, secondsEach: seconds, connectionsMax, onAttack } = options;
  const quiet = new Tally();
  const load = await startValidLoad(system.valid, quiet);
  const memory = watchMemory(system.own.local);
  const beganMs = performance.now();
  const attacks: AttackSeen[] = [];
  try {
    await delay(QUIET_MS);
    for (const kind of kinds) {
      const tally = new Tally();
      load.countIn(tally);
      const fromMs = performance.now() - beganMs;
      const figures = await runAttack({ kind, target: system.attacked, seconds, connectionsMax });
      const seen = { kind, fromMs, toMs: performance.now() - beganMs, figures, valid: tally.counts };
      attacks.push(seen);
      onAttack?.(seen);
    }
  } finally {
    await load.stop();
    memory.stop();
  }
  return { before: quiet.counts, attacks, memory: memory.samples, lengthMs: performance.now() - beganMs };
}

interface AttackOrder extends AttackBounds {
  readonly kind: AttackKind;
  readonly target: AttackTarget;
}

/** Always the compiled file, also if this file runs from `src`. */
const PROGRAM = fileURLToPath(
  new URL(import.meta.url.includes('/dist/') ? '../main.js' : '../../dist/src/main.js', import.meta.url),
);
/** Time after the planned end until the attacker is killed. */
const LATE_MS_MAX = 20_000;

/**
 * Runs an attack in a separate process, so that it does not slow down the valid load. Returns null
 * if the process ended without a result.
 */
async function runAttack(order: AttackOrder): Promise<AttackFigures | null> {
  const child = fork(PROGRAM, ['attack', JSON.stringify(order)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  let figures: AttackFigures | null = null;
  child.once('message', (message) => (figures = message as AttackFigures));
  const late = setTimeout(() => child.kill('SIGKILL'), order.seconds * 1_000 + LATE_MS_MAX);
  await once(child, 'close');
  clearTimeout(late);
  return figures;
}

/** Runs in the attacker, which ends when its parent does. Sends the figures to the parent. */
export async function attackForParent(order: string): Promise<void> {
  const { kind, target, ...bounds } = JSON.parse(order) as AttackOrder;
  const attack = startAttack(kind, target, bounds);
  process.once('disconnect', () => attack.stop());
  const figures = await attack.ended;
  if (process.connected) process.send?.(figures, undefined, undefined, () => process.disconnect());
}

export interface MemorySample {
  readonly atMs: number;
  readonly replica: string;
  readonly pid: number;
  readonly bytes: number;
}

interface MemoryWatch {
  readonly samples: readonly MemorySample[];
  stop(): void;
}

const EVERY_MS = 1_000;
const KIBIBYTE = 1024;

function watchMemory(system: LocalSystem): MemoryWatch {
  const samples: MemorySample[] = [];
  const beganMs = performance.now();
  const sample = (): void => {
    const atMs = performance.now() - beganMs;
    const { pids } = system.running();
    for (const name of SERVICES) {
      for (const [index, pid] of (pids[name] ?? []).entries()) {
        const bytes = residentBytes(pid);
        if (bytes !== null) samples.push({ atMs, replica: `${name}-${index + 1}`, pid, bytes });
      }
    }
  };
  sample();
  const timer = setInterval(sample, EVERY_MS);
  return { samples, stop: () => clearInterval(timer) };
}

function residentBytes(pid: number): number | null {
  try {
    const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kibibytes === undefined ? null : Number(kibibytes) * KIBIBYTE;
  } catch {
    return null;
  }
}
