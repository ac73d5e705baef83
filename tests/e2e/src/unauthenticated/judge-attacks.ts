import { total } from '../runner/render-report.js';
import type { AttacksSeen, MemorySample } from './attack-in-turn.js';
import { VALID_KINDS, type ValidCount, type ValidCounts } from './valid-load.js';

/** Most resident memory at the end, relative to the warm process. */
export const RESIDENT_GROWTH_MAX = 1.1;
/** Fractions of the run. In an hour: minutes five to fifteen, and the last ten minutes. */
const WARM = { from: 1 / 12, to: 1 / 4 };
const LAST = { from: 5 / 6, to: 1 };
/** A shorter run ends before code is compiled and caches are full, so its growth is not checked. */
export const MEMORY_JUDGED_MS_MIN = 1_800_000;
/** Least share of the planned requests that must have been made. */
const ASKED_MIN = 0.9;
const CALLS_PER_SECOND = 50;

export interface ResidentMeans {
  readonly replica: string;
  readonly warm: number;
  readonly last: number;
}

/** Describes each effect of the attacks on valid requests and processes. */
export function judgeAttacks(seen: AttacksSeen): string[] {
  const { before, attacks, memory, lengthMs } = seen;
  const all: string[] = wrongIn('before the attacks', before);
  for (const { kind, figures, valid } of attacks) {
    if (figures === null || figures.connections === 0) all.push(`${kind}: nothing was attacked`);
    all.push(...wrongIn(`during ${kind}`, valid));
  }
  all.push(...startedAgain(memory));
  if (lengthMs >= MEMORY_JUDGED_MS_MIN) {
    for (const { replica, warm, last } of residentMeans(seen)) {
      const growth = last / warm;
      if (!(growth <= RESIDENT_GROWTH_MAX))
        all.push(`${replica} has ${growth.toFixed(2)} times as much resident memory`);
    }
  }
  return all;
}

/** Reports a load that was too small, because the test process or the attacker was too slow. */
export function judgeRate({ attacks }: Pick<AttacksSeen, 'attacks'>): string[] {
  const calls = attacks.reduce((sum, { valid }) => sum + valid.calls.sent, 0);
  const seconds = attacks.reduce((sum, { fromMs, toMs }) => sum + (toMs - fromMs), 0) / 1_000;
  if (calls >= seconds * CALLS_PER_SECOND * ASKED_MIN) return [];
  return [`only ${calls} valid requests in ${seconds.toFixed(0)} s`];
}

/** Computes the mean resident memory of each process in both parts of the run. */
export function residentMeans({ memory, lengthMs }: Pick<AttacksSeen, 'memory' | 'lengthMs'>): ResidentMeans[] {
  const mean = (replica: string, { from, to }: typeof WARM): number => {
    const within = memory.filter(
      (one) => one.replica === replica && one.atMs >= from * lengthMs && one.atMs <= to * lengthMs,
    );
    return within.reduce((sum, { bytes }) => sum + bytes, 0) / within.length;
  };
  return [...new Set(memory.map(({ replica }) => replica))].map((replica) => ({
    replica,
    warm: mean(replica, WARM),
    last: mean(replica, LAST),
  }));
}

export function wrongOf({ wrong }: ValidCount): number {
  return total(Object.values(wrong));
}

function wrongIn(when: string, counts: ValidCounts): string[] {
  return VALID_KINDS.flatMap((kind) => {
    const wrong = wrongOf(counts[kind]);
    if (wrong === 0) return [];
    return `${when}: ${wrong} of ${counts[kind].sent} ${kind} were not served: ${JSON.stringify(counts[kind].wrong)}`;
  });
}

function startedAgain(memory: readonly MemorySample[]): string[] {
  const pids = new Map<string, Set<number>>();
  for (const { replica, pid } of memory) pids.set(replica, (pids.get(replica) ?? new Set()).add(pid));
  return [...pids].flatMap(([replica, { size }]) => (size === 1 ? [] : `${replica} ended ${size - 1} times`));
}
