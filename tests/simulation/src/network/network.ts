import type { Fault, FaultOf, Step } from '../scenario/scenario.js';
import { hash } from '../time/random.js';
import { Host } from '../time/host.js';
import type { VirtualTime } from '../time/virtual-time.js';

/** Usual latency of a message, milliseconds. */
const LATENCY_MS_MAX = 5;
/** One message of this many takes longer. */
const SLOW_ONE_OF = 16;
const SLOW_MS_MAX = 60;
const USUAL_MS_MAX = LATENCY_MS_MAX + SLOW_MS_MAX;

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

/** What happens to one message. */
interface Passage {
  readonly latencyMs: number;
  readonly fault: FaultOf<'message'> | undefined;
  readonly kill: FaultOf<'kill'> | undefined;
}

/** Carries messages and applies the scenario's message faults and kills. */
export class Network {
  readonly #parts: NetworkParts;
  readonly #messageFaults = new Map<number, FaultOf<'message'>>();
  readonly #kills = new Map<number, FaultOf<'kill'>>();
  readonly #stepKills = new Map<string, FaultOf<'step-killed'>>();
  readonly #steps = new Map<Step, number>();
  /** Number of messages. */
  sent = 0;
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

  isCut(host: Host): boolean {
    return Math.max(host.cutUntil, this.bus.cutUntil) > this.#parts.time.now;
  }

  /** Sends one message. Its content must not be shared with the sender: {@link onWire}. */
  post(from: Host, to: Host, take: () => void): void {
    const { latencyMs, fault, kill } = this.next();
    const isLost = fault?.how === 'drop' || this.isCut(from) || this.isCut(to);
    const latency = latencyMs + (fault?.how === 'delay' ? fault.ms : 0);
    if (!isLost) this.#deliver(to, latency, take, kill);
    if (!isLost && fault?.how === 'double') this.#deliver(to, latency + fault.ms, take, undefined);
    if (kill?.who === 'sender') this.killAfterStep(from, kill.ms);
  }

  /**
   * Sends a request with one response. `serve` runs in the host that receives it. Its response or
   * error is sent back.
   * @param to null: the request has no receiver
   */
  request<A>(from: Host, to: Host | null, timeoutMs: number, serve: () => A | Promise<A>): Promise<A> {
    return new Promise((resolve, reject) => {
      const late = this.#parts.time.in(from, timeoutMs, () => reject(new BusError('timeout')));
      const settle = (done: () => void): void => {
        late.isCancelled = true;
        done();
      };
      if (this.isCut(from)) return settle(() => reject(new BusError('disconnected')));
      if (to === null) return settle(() => reject(new BusError('no_responders')));
      this.post(from, to, () => {
        (async (): Promise<A> => serve())().then(
          (answer) => {
            const arrived = onWire({ answer });
            this.post(to, from, () => settle(() => resolve(arrived.answer)));
          },
          () => this.post(to, from, () => settle(() => reject(new BusError('fault')))),
        );
      });
    });
  }

  /** Numbers the next message and returns what happens to it. */
  next(): Passage {
    this.sent += 1;
    const n = this.sent;
    const chance = hash(this.#parts.seed, n);
    const slowMs = chance % SLOW_ONE_OF === 0 ? (chance >>> 8) % SLOW_MS_MAX : 0;
    const latencyMs = ((chance >>> 16) % LATENCY_MS_MAX) + slowMs;
    if (this.isQuiet) return { latencyMs, fault: undefined, kill: undefined };
    return { latencyMs, fault: this.#messageFaults.get(n), kill: this.#kills.get(n) };
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

  /** Kills a host after the current step, so that its work in that step is done. */
  killAfterStep(host: Host, ms: number): void {
    this.#parts.time.in(null, 0, () => this.#parts.kill(host, ms));
  }

  #deliver(to: Host, latencyMs: number, take: () => void, kill: Passage['kill']): void {
    const { time } = this.#parts;
    if (latencyMs > USUAL_MS_MAX) this.lateUntil = Math.max(this.lateUntil, time.now + latencyMs);
    time.in(to, latencyMs, () => {
      if (kill?.who === 'receiver_before') return this.#parts.kill(to, kill.ms);
      take();
      if (kill?.who === 'receiver_after') this.killAfterStep(to, kill.ms);
    });
  }
}

/** Copies a value as a network does: later changes by its sender do not affect the copy. */
export function onWire<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
