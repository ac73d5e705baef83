import type { Fault, Step } from '../scenario/scenario.js';
import { hash } from '../time/random.js';
import { Host } from '../time/host.js';
import type { VirtualTime } from '../time/virtual-time.js';

/** Usual latency of a message, milliseconds. */
const LATENCY_MS_MAX = 5;
/** One message of this many takes longer. */
const SLOW_ONE_OF = 16;
const SLOW_MS_MAX = 60;
const USUAL_MS_MAX = LATENCY_MS_MAX + SLOW_MS_MAX;

type MessageFault = Extract<Fault, { kind: 'message' }>;
type StepKill = Extract<Fault, { kind: 'step-killed' }>;
type Kill = Extract<Fault, { kind: 'kill' }>;

/** The bus's error for a sender, with the `code` that the services read. */
export class BusError extends Error {
  override readonly name = 'BusError';

  constructor(readonly code: 'timeout' | 'no_responders' | 'disconnected' | 'fault') {
    super(code);
  }
}

export interface NetworkParts {
  readonly time: VirtualTime;
  readonly seed: number;
  readonly faults: readonly Fault[];
  readonly kill: (host: Host, restartMs: number) => void;
}

/** Carries messages and applies the scenario's message faults and kills. */
export class Network {
  readonly #parts: NetworkParts;
  readonly #messageFaults = new Map<number, MessageFault>();
  readonly #kills = new Map<number, Kill>();
  readonly #stepKills = new Map<string, StepKill>();
  readonly #steps = new Map<Step, number>();
  #sent = 0;
  /** The bus itself. While it is cut, hosts reach only the limit store. */
  readonly bus = new Host('bus');
  /** While it is cut, heartbeats are stored, but no replica of admission receives one. */
  readonly heartbeats = new Host('heartbeats');
  /** True when faults have ended. */
  isQuiet = false;
  /** Time when the last delayed message arrives. */
  lateUntil = -Infinity;

  constructor(parts: NetworkParts) {
    this.#parts = parts;
    for (const fault of parts.faults) {
      if (fault.kind === 'message') this.#messageFaults.set(fault.n, fault);
      if (fault.kind === 'kill') this.#kills.set(fault.n, fault);
      if (fault.kind === 'step-killed') this.#stepKills.set(`${fault.step} ${fault.n}`, fault);
    }
  }

  get sent(): number {
    return this.#sent;
  }

  isCut(host: Host): boolean {
    return Math.max(host.cutUntil, this.bus.cutUntil) > this.#parts.time.now;
  }

  /** Sends one message. Its content must not be shared with the sender: {@link onWire}. */
  post(from: Host, to: Host, take: () => void): void {
    this.#sent += 1;
    const n = this.#sent;
    const fault = this.isQuiet ? undefined : this.#messageFaults.get(n);
    const kill = this.isQuiet ? undefined : this.#kills.get(n);
    const isLost = fault?.how === 'drop' || this.isCut(from) || this.isCut(to);
    const latency = this.latencyMs(n) + (fault?.how === 'delay' ? fault.ms : 0);
    if (!isLost) this.#deliver(to, latency, take, kill);
    if (!isLost && fault?.how === 'double') this.#deliver(to, latency + fault.ms, take, undefined);
    // The kill follows the current step, so the sender's work in that step is done.
    if (kill?.who === 'sender') this.#parts.time.in(null, 0, () => this.#parts.kill(from, kill.ms));
  }

  latencyMs(n: number): number {
    const chance = hash(this.#parts.seed, n);
    const slow = chance % SLOW_ONE_OF === 0 ? (chance >>> 8) % SLOW_MS_MAX : 0;
    return ((chance >>> 16) % LATENCY_MS_MAX) + slow;
  }

  /** Returns the fault of the next message of a link that keeps its own order. */
  nextLinkFault(): { readonly n: number; readonly how: MessageFault['how'] | null; readonly ms: number } {
    this.#sent += 1;
    const n = this.#sent;
    const fault = this.isQuiet ? undefined : this.#messageFaults.get(n);
    return { n, how: fault?.how ?? null, ms: fault?.ms ?? 0 };
  }

  /** Returns the kill that belongs to a message of a link. */
  killAt(n: number): Kill | undefined {
    return this.isQuiet ? undefined : this.#kills.get(n);
  }

  /** Called before a host takes a step. Never resolves if the host is killed instead. */
  step(host: Host, step: Step): Promise<void> {
    const n = (this.#steps.get(step) ?? 0) + 1;
    this.#steps.set(step, n);
    const kill = this.isQuiet ? undefined : this.#stepKills.get(`${step} ${n}`);
    if (kill === undefined) return Promise.resolve();
    this.#parts.time.in(null, kill.afterMs, () => this.#parts.kill(host, kill.ms));
    return new Promise(() => undefined);
  }

  kill(host: Host, ms: number): void {
    this.#parts.kill(host, ms);
  }

  #deliver(to: Host, latencyMs: number, take: () => void, kill: Kill | undefined): void {
    const { time } = this.#parts;
    if (latencyMs > USUAL_MS_MAX) this.lateUntil = Math.max(this.lateUntil, time.now + latencyMs);
    time.in(to, latencyMs, () => {
      if (kill?.who === 'receiver_before') return this.#parts.kill(to, kill.ms);
      take();
      if (kill?.who === 'receiver_after') time.in(null, 0, () => this.#parts.kill(to, kill.ms));
    });
  }
}

/** Copies a value as a network does: later changes by its sender do not affect the copy. */
export function onWire<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
