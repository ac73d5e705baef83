import { Random } from '../time/random.js';
import { STEPS, type Fault } from './scenario.js';

/** Approximate number of messages per second of a run. */
const MESSAGES_PER_SECOND = 110;
const DELAYS_MS = [30, 400, 1_500, 3_000, 12_000, 20_000];
const DOUBLES_MS = [0, 5, 800, 9_000];
const PROCESSES = ['edge0', 'edge1', 'admission0', 'admission1', 'billing0', 'billing1'];
const OUTAGES_MS = [80, 700, 3_000, 8_000];
const LONG_OUTAGE_MS = 45_000;

/**
 * Draws the faults of a run of `lengthMs`. Some runs have hardly any, some very many. Promotions,
 * kills at steps and lasting faults have their own random sources, so that the other faults of a
 * seed do not depend on them.
 */
export function makeFaults(random: Random, seed: number, lengthMs: number): Fault[] {
  const messages = Math.ceil((lengthMs / 1_000) * MESSAGES_PER_SECOND);
  const rate = random.pick([0, 0.01, 0.04, 0.1]);
  return [
    ...messageFaults(random, messages, rate),
    ...some(random, 0.5, 4, () => ({
      kind: 'kill',
      n: random.between(1, messages),
      who: random.pick(['sender', 'receiver_before', 'receiver_after']),
      ms: random.pick(OUTAGES_MS),
    })),
    ...some(random, 0.5, 3, () => {
      const kind = random.pick(['cut', 'hang'] as const);
      const ms = random.chance(0.1) ? LONG_OUTAGE_MS : random.pick(OUTAGES_MS);
      const hosts = kind === 'cut' ? [...PROCESSES, 'accounts', 'nats'] : PROCESSES;
      return { kind, host: random.pick(hosts), at: random.below(lengthMs), ms };
    }),
    ...some(random, 0.6, 2, () => ({
      kind: 'limit-store',
      how: random.pick(['flush', 'restart_empty', 'restart_old']),
      at: random.below(lengthMs),
      ms: random.pick([10, 300, 2_000]),
    })),
    ...some(random, 0.5, 3, () => ({
      kind: 'database',
      n: random.between(1, 30),
      how: random.pick(['before', 'after']),
    })),
    ...makePromotions(new Random(seed ^ 0x70b0), lengthMs),
    ...makeStepKills(new Random(seed ^ 0x57e9)),
    ...makeLastingFaults(new Random(seed ^ 0x4e5d), lengthMs),
  ];
}

/** Makes no fault in a share of the runs, and otherwise up to `most`. */
function some(random: Random, without: number, most: number, make: () => Fault): Fault[] {
  return Array.from({ length: random.chance(without) ? 0 : random.between(1, most) }, make);
}

function messageFaults(random: Random, messages: number, rate: number): Fault[] {
  const faults: Fault[] = [];
  for (let n = 1; n <= messages; n += 1) {
    if (!random.chance(rate)) continue;
    const how = random.pick(['drop', 'drop', 'double', 'delay', 'delay'] as const);
    const ms = how === 'double' ? random.pick(DOUBLES_MS) : how === 'delay' ? random.pick(DELAYS_MS) : 0;
    faults.push({ kind: 'message', n, how, ms });
  }
  return faults;
}

function makePromotions(random: Random, lengthMs: number): Fault[] {
  return some(random, 0.75, 2, () => ({ kind: 'promotion', at: random.below(lengthMs), commits: random.below(7) }));
}

function makeStepKills(random: Random): Fault[] {
  return some(random, 0.85, 3, () => ({
    kind: 'step-killed',
    step: random.pick(STEPS),
    n: random.between(1, 12),
    // Messages that the process sends in that time arrive.
    afterMs: random.pick([0, 5, 60]),
    ms: random.pick([80, 700, 3_000]),
  }));
}

/**
 * Returns faults that last longer than the leases of a run. Only few runs have them, because they
 * take most of the time.
 */
function makeLastingFaults(random: Random, lengthMs: number): Fault[] {
  if (!random.chance(0.15)) return [];
  const at = random.below(lengthMs);
  if (random.chance(0.5)) {
    const how = random.pick(['as_it_is', 'late'] as const);
    return [{ kind: 'failover', how, at, ms: random.pick([3_000, 15_000, 40_000]) }];
  }
  const ms = random.pick([12_000, 40_000]);
  if (random.chance(0.3)) return [{ kind: 'away', at, ms }];
  return [{ kind: 'cut', host: random.pick(['redis', 'bus', 'postgres']), at, ms }];
}
