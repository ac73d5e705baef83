import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type LocalSystem, SERVICES } from '@gateway/local';
import { SeededRandom } from '@gateway/testkit/random';
import { sumOf } from '@gateway/testkit';
import { seconds, thousands } from '../runner/render-report.js';
import { defineScenario, SEED_OPTION, withSystem } from '../runner/run-scenario.js';
import { type AttackOrder, runAttack } from './attack.js';
import { startAttackedSystem, type AttackedSystem } from './attacked-system.js';
import { ATTACK_KINDS, type AttackKind } from './attacks.js';
import { judgeAttacks, judgeRate, measureMemory, wrongOf } from './judge-attacks.js';
import type { AttackSeen, AttacksSeen, MemorySample } from './judge-attacks.js';
import { startValidLoad, VALID_KINDS } from './valid-load.js';

/** Duration of the valid load before the first attack. */
const QUIET_MS = 2_000;
const SAMPLE_EVERY_MS = 1_000;
const KIBIBYTE = 1024;

/** Runs one attack after the other during the valid load. */
export async function attackInTurn(
  { own, attacked: target, valid }: AttackedSystem,
  kinds: readonly AttackKind[],
  bounds: Pick<AttackOrder, 'seconds' | 'connectionsMax'>,
  log: (line: string) => void = () => undefined,
): Promise<AttacksSeen> {
  const load = await startValidLoad(valid);
  const before = load.count();
  const beganMs = performance.now();
  const memory: MemorySample[] = [];
  const sample = (): void => void memory.push(...readMemory(own.local, performance.now() - beganMs));
  sample();
  const timer = setInterval(sample, SAMPLE_EVERY_MS);
  const attacks: AttackSeen[] = [];
  try {
    await delay(QUIET_MS);
    for (const kind of kinds) {
      const counts = load.count();
      const fromMs = performance.now();
      const figures = await runAttack({ kind, target, ...bounds });
      attacks.push({ kind, lengthMs: performance.now() - fromMs, figures, valid: counts });
      log(`${kind}: ${JSON.stringify({ ...figures, valid: counts.calls })}`);
    }
  } finally {
    await load.stop();
    clearInterval(timer);
  }
  return { before, attacks, memory, lengthMs: performance.now() - beganMs };
}

/** Reads the resident memory of every process. Skips one that is starting again. */
function readMemory(system: LocalSystem, atMs: number): MemorySample[] {
  const { pids } = system.running();
  return SERVICES.flatMap((name) =>
    (pids[name] ?? []).flatMap((pid, index) => {
      try {
        const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
        if (kibibytes === undefined) return [];
        return [{ atMs, replica: `${name}-${index + 1}`, pid, bytes: Number(kibibytes) * KIBIBYTE }];
      } catch {
        return [];
      }
    }),
  );
}

const CONNECTIONS_MAX = 18_000;
/** Rounds of all kinds. Each measurement of memory then contains two of them. */
const ROUNDS = 12;

export const unauthenticated = defineScenario({
  name: 'unauthenticated',
  title: 'Unauthenticated clients',
  about:
    'one replica of each service, attacked from 127.0.0.1 during 50 requests per second, page views and operator requests from 127.0.0.2 and up, each on a separate connection. The attacks take turns in twelve rounds, each in a different order. Growth of resident memory is judged in runs of 30 minutes or more: at most 1.1.',
  options: { minutes: { or: 60, min: 1, max: 10_000 }, seed: SEED_OPTION },
  play: ({ minutes, seed }, log) =>
    withSystem(startAttackedSystem('verify-unauthenticated'), async (system) => {
      const random = new SeededRandom(seed);
      const turns = Array.from({ length: ROUNDS }, () => {
        const left = [...ATTACK_KINDS];
        return ATTACK_KINDS.flatMap(() => left.splice(random.below(left.length), 1));
      }).flat();
      const bounds = { seconds: (minutes * 60) / turns.length, connectionsMax: CONNECTIONS_MAX };
      const seen = await attackInTurn(system, turns, bounds, log);
      const valid = { head: ['Valid requests', 'sent', 'failed', 'slowest s'], rows: countValid(seen) };
      const memory = {
        head: ['Process', 'resident memory at the end / after the start'],
        rows: measureMemory(seen).map(({ replica, warm, last }) => [replica, (last / warm).toFixed(2)]),
      };
      return { violations: [...judgeAttacks(seen), ...judgeRate(seen)], tables: [valid, memory] };
    }),
});

function countValid({ attacks }: AttacksSeen) {
  return VALID_KINDS.map((kind) => {
    const counts = attacks.map(({ valid }) => valid[kind]);
    const totals = [counts.map(({ sent }) => sent), counts.map(wrongOf)].map((of) => thousands(sumOf(of)));
    return [kind, ...totals, seconds(Math.max(...counts.map(({ slowestMs }) => slowestMs)))];
  });
}
