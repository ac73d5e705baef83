import { type LocalSystem, SERVICES } from '@gateway/local';
import type { SeededRandom } from '@gateway/testkit/random';
import type { FaultDone } from '../evidence/evidence.js';
import type { Links } from './tcp-proxy.js';

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
const SILENCE_MS = { min: 300, span: 1_500 };
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

export function targetsOf(system: LocalSystem, links: Links): Targets {
  const processes = SERVICES.flatMap((name) => system.children(name).map((_, index) => `${name}-${index + 1}`));
  return { processes, links: links.names };
}

/** Returns all kinds in a random order, then all kinds in another order, up to the count. */
export function planFaults(count: number, targets: Targets, random: SeededRandom): PlannedFault[] {
  let kinds: typeof KINDS = [];
  return Array.from({ length: count }, () => {
    if (kinds.length === 0) kinds = KINDS;
    const kind = random.pick(kinds);
    kinds = kinds.filter((one) => one !== kind);
    const { what, among } = kind;
    const target = random.pick(among(targets));
    const forMs = SILENCE_MS.min + random.below(SILENCE_MS.span);
    return { what, target, forMs, delayMs: what === 'delay' ? DELAY_MS.min + random.below(DELAY_MS.span) : 0 };
  });
}
