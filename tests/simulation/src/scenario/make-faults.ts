import type { Random } from '../time/random.js';
import type { Fault } from './scenario.js';

/** Approximate number of messages per second of a run. */
const MESSAGES_PER_SECOND = 110;
const DELAYS_MS = [30, 400, 1_500, 3_000, 12_000, 20_000];
const DOUBLES_MS = [0, 5, 800, 9_000];
const HOSTS = ['edge0', 'edge1', 'admission0', 'admission1', 'billing0', 'billing1', 'accounts', 'nats'];
const PROCESSES = HOSTS.slice(0, 6);
const OUTAGES_MS = [80, 700, 3_000, 8_000];
const LONG_OUTAGE_MS = 45_000;

/** Draws the faults of a run of `lengthMs`. Some runs have hardly any, some very many. */
export function makeFaults(random: Random, lengthMs: number): Fault[] {
  const messages = Math.ceil((lengthMs / 1_000) * MESSAGES_PER_SECOND);
  const rate = random.pick([0, 0.01, 0.04, 0.1]);
  return [
    ...messageFaults(random, messages, rate),
    ...kills(random, messages),
    ...outages(random, lengthMs),
    ...limitStoreLosses(random, lengthMs),
    ...databaseFaults(random),
  ];
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

function kills(random: Random, messages: number): Fault[] {
  const count = random.chance(0.5) ? 0 : random.between(1, 4);
  return Array.from({ length: count }, () => ({
    kind: 'kill' as const,
    n: random.between(1, messages),
    who: random.pick(['sender', 'receiver_before', 'receiver_after'] as const),
    ms: random.pick(OUTAGES_MS),
  }));
}

function outages(random: Random, lengthMs: number): Fault[] {
  const count = random.chance(0.5) ? 0 : random.between(1, 3);
  return Array.from({ length: count }, () => {
    const kind = random.pick(['cut', 'hang'] as const);
    const ms = random.chance(0.1) ? LONG_OUTAGE_MS : random.pick(OUTAGES_MS);
    return { kind, host: random.pick(kind === 'cut' ? HOSTS : PROCESSES), at: random.below(lengthMs), ms };
  });
}

function limitStoreLosses(random: Random, lengthMs: number): Fault[] {
  const count = random.chance(0.6) ? 0 : random.between(1, 2);
  return Array.from({ length: count }, () => ({
    kind: 'limit-store' as const,
    how: random.pick(['flush', 'restart_empty', 'restart_old'] as const),
    at: random.below(lengthMs),
    ms: random.pick([10, 300, 2_000]),
  }));
}

function databaseFaults(random: Random): Fault[] {
  const count = random.chance(0.5) ? 0 : random.between(1, 3);
  return Array.from({ length: count }, () => ({
    kind: 'database' as const,
    n: random.between(1, 30),
    how: random.pick(['before', 'after'] as const),
  }));
}
