import type { FaultDone } from '../evidence/evidence.js';

/** A planned fault. A seed and a system always give the same faults. */
export interface PlannedFault {
  readonly what: FaultDone['what'];
  readonly target: string;
  /** Duration of a fault that ends by itself, milliseconds. */
  readonly forMs: number;
  /** Delay of every byte on a link, milliseconds. */
  readonly delayMs: number;
}

export interface Targets {
  readonly processes: readonly string[];
  readonly links: readonly string[];
}

export const SERVERS = ['postgres', 'nats', 'redis'] as const;
export type FaultServer = (typeof SERVERS)[number];

/** Shorter than the lease of these systems, so that a silence alone never frees a slot. */
export const SILENCE_MS = { min: 300, span: 1_500 };
const DELAY_MS = { min: 20, span: 230 };

/** Each kind occurs equally often. */
const KINDS: readonly { readonly what: FaultDone['what']; readonly among: (all: Targets) => readonly string[] }[] = [
  { what: 'kill', among: ({ processes }) => processes },
  { what: 'kill', among: () => SERVERS },
  { what: 'stop without nats', among: ({ processes }) => processes.filter((name) => name.startsWith('edge-proxy-')) },
  { what: 'freeze', among: ({ processes }) => processes },
  { what: 'freeze', among: () => SERVERS },
  { what: 'restart', among: () => SERVERS },
  { what: 'flush', among: () => ['redis'] },
  { what: 'reset', among: ({ links }) => links },
  { what: 'stall', among: ({ links }) => links },
  { what: 'delay', among: ({ links }) => links },
];

export function isServer(target: string): target is FaultServer {
  return SERVERS.some((name) => name === target);
}

export function planFaults(count: number, targets: Targets, next: () => number): PlannedFault[] {
  const kinds: (typeof KINDS)[number][] = [];
  while (kinds.length < count) kinds.push(...shuffled(KINDS, next));
  return kinds.slice(0, count).map(({ what, among }) => {
    const forMs = between(SILENCE_MS, next);
    const all = among(targets);
    const target = all[Math.floor(next() * all.length)];
    if (target === undefined) throw new Error('the system has no target for this fault');
    return { what, target, forMs, delayMs: what === 'delay' ? between(DELAY_MS, next) : 0 };
  });
}

function between({ min, span }: { min: number; span: number }, next: () => number): number {
  return min + Math.floor(next() * span);
}

function shuffled<T>(all: readonly T[], next: () => number): T[] {
  return all
    .map((one) => ({ one, at: next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);
}
