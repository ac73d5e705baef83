import { sumOf } from '@gateway/testkit';
import type { AttackFigures } from './attack.js';
import type { AttackKind } from './attacks.js';
import { VALID_KINDS, type ValidCount, type ValidCounts } from './valid-load.js';

/** One attack, and the valid requests that began during it. */
export interface AttackSeen {
  readonly kind: AttackKind;
  readonly lengthMs: number;
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

export interface MemorySample {
  readonly atMs: number;
  readonly replica: string;
  readonly pid: number;
  readonly bytes: number;
}

/** Most resident memory at the end, relative to the warm process. */
const RESIDENT_GROWTH_MAX = 1.1;
/** Fractions of the run. In an hour: minutes five to fifteen, and the last ten minutes. */
const WARM = { from: 1 / 12, to: 1 / 4 };
const LAST = { from: 5 / 6, to: 1 };
/** A shorter run ends before code is compiled and caches are full, so its growth is not checked. */
const MEMORY_JUDGED_MS_MIN = 1_800_000;
/** Least share of the planned requests that must have been made. */
const ASKED_MIN = 0.9;
const CALLS_PER_SECOND = 50;

/** Describes each effect of the attacks on valid requests and processes. */
export function judgeAttacks(seen: AttacksSeen): string[] {
  const all = wrongIn('before the attacks', seen.before);
  for (const { kind, figures, valid } of seen.attacks) {
    if (figures === null || figures.connections === 0) all.push(`${kind}: nothing was attacked`);
    else if (figures.requests > 0 && sumOf(Object.values(figures.answers)) === 0) all.push(`${kind}: no response`);
    all.push(...wrongIn(`during ${kind}`, valid));
  }
  for (const { replica, starts, warm, last } of measureMemory(seen)) {
    if (starts > 1) all.push(`${replica} ended ${starts - 1} times`);
    const growth = last / warm;
    if (seen.lengthMs >= MEMORY_JUDGED_MS_MIN && !(growth <= RESIDENT_GROWTH_MAX)) {
      all.push(`${replica} has ${growth.toFixed(2)} times as much resident memory`);
    }
  }
  return all;
}

/** Reports a load that was too small, because the test process or the attacker was too slow. */
export function judgeRate({ attacks }: Pick<AttacksSeen, 'attacks'>): string[] {
  const calls = sumOf(attacks.map(({ valid }) => valid.calls.sent));
  const seconds = sumOf(attacks.map(({ lengthMs }) => lengthMs)) / 1_000;
  if (calls >= seconds * CALLS_PER_SECOND * ASKED_MIN) return [];
  return [`only ${calls} valid requests in ${seconds.toFixed(0)} s`];
}

/** Returns the starts of each process, and its mean resident memory in both parts of the run. */
export function measureMemory({ memory, lengthMs }: Pick<AttacksSeen, 'memory' | 'lengthMs'>) {
  return [...new Set(memory.map(({ replica }) => replica))].map((replica) => {
    const own = memory.filter((one) => one.replica === replica);
    const mean = ({ from, to }: typeof WARM): number => {
      const within = own.filter(({ atMs }) => atMs >= from * lengthMs && atMs <= to * lengthMs);
      return sumOf(within.map(({ bytes }) => bytes)) / within.length;
    };
    return { replica, starts: new Set(own.map(({ pid }) => pid)).size, warm: mean(WARM), last: mean(LAST) };
  });
}

export function wrongOf({ wrong }: ValidCount): number {
  return sumOf(Object.values(wrong));
}

function wrongIn(when: string, counts: ValidCounts): string[] {
  return VALID_KINDS.flatMap((kind) => {
    const wrong = wrongOf(counts[kind]);
    if (wrong === 0) return [];
    return `${when}: ${wrong} of ${counts[kind].sent} ${kind} were not served: ${JSON.stringify(counts[kind].wrong)}`;
  });
}
