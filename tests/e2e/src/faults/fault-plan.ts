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

/** The processes and links that a fault can hit. */
export interface Targets {
  /** Process names like `billing-1`. */
  readonly processes: readonly string[];
  readonly links: readonly string[];
}

export const SERVERS = ['postgres', 'nats', 'redis'] as const;
export type FaultServer = (typeof SERVERS)[number];

/** Shorter than the lease of these systems, so that a silence alone never frees a slot. */
export const SILENCE_MS = { min: 300, span: 1_500 };
const DELAY_MS = { min: 20, span: 230 };

/** Each kind occurs equally often. */
const KINDS = [
  'kill a process',
  'kill a server',
  'stop an edge without nats',
  'freeze a process',
  'freeze a server',
  'restart a server',
  'flush redis',
  'reset a link',
  'stall a link',
  'delay a link',
] as const;

const isEdge = (process: string): boolean => process.startsWith('edge-proxy-');

export function isServer(target: string): target is FaultServer {
  return SERVERS.some((name) => name === target);
}

/** Plans the faults, which run one after the other. */
export function planFaults(count: number, { processes, links }: Targets, next: () => number): PlannedFault[] {
  const pick = <T>(all: readonly T[]): T => {
    const one = all[Math.floor(next() * all.length)];
    if (one === undefined) throw new Error('the system has no target for this fault');
    return one;
  };
  const kinds: (typeof KINDS)[number][] = [];
  while (kinds.length < count) kinds.push(...shuffled(KINDS, next));
  return kinds.slice(0, count).map((kind) => {
    const lasting = { forMs: between(SILENCE_MS, next), delayMs: 0 };
    switch (kind) {
      case 'kill a process':
        return { what: 'kill', target: pick(processes), ...lasting };
      case 'kill a server':
        return { what: 'kill', target: pick(SERVERS), ...lasting };
      case 'stop an edge without nats':
        return { what: 'stop without nats', target: pick(processes.filter(isEdge)), ...lasting };
      case 'freeze a process':
        return { what: 'freeze', target: pick(processes), ...lasting };
      case 'freeze a server':
        return { what: 'freeze', target: pick(SERVERS), ...lasting };
      case 'restart a server':
        return { what: 'restart', target: pick(SERVERS), ...lasting };
      case 'flush redis':
        return { what: 'flush', target: 'redis', ...lasting };
      case 'reset a link':
        return { what: 'reset', target: pick(links), ...lasting };
      case 'stall a link':
        return { what: 'stall', target: pick(links), ...lasting };
      case 'delay a link':
        return { what: 'delay', target: pick(links), ...lasting, delayMs: between(DELAY_MS, next) };
    }
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
