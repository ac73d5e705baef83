import type { Admission } from '@gateway/admission/admission.js';
import type { Heartbeat } from '@gateway/admission/ports.js';
import type { Truth } from '../check/truth.js';
import type { LimitStoreServer } from '../limit-store/server.js';
import type { MemoryLedger } from '../ledger/memory-ledger.js';
import type { Network } from '../network/network.js';
import type { Streams } from '../network/streams.js';
import type { Scenario } from '../scenario/scenario.js';
import type { Host } from '../time/host.js';
import type { Random } from '../time/random.js';
import type { VirtualTime } from '../time/virtual-time.js';

/** The interface that every process of a run has. Its events and connections end with its host. */
export interface HostedProcess {
  readonly host: Host;
}

/** A replica of admission, as other hosts see it. */
export interface AdmissionReplica extends HostedProcess {
  /** The address of requests for this replica. */
  readonly name: string;
  readonly admission: Admission;
  takeHeartbeat(heartbeat: Heartbeat): void;
  /** Called when the bus is back after a cut. */
  reconnected(): void;
}

/** State that all hosts of one run share. */
export interface RunParts {
  readonly scenario: Scenario;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly network: Network;
  readonly streams: Streams;
  readonly server: LimitStoreServer;
  readonly ledger: MemoryLedger;
  readonly truth: Truth;
  /** By place. A restart replaces the entry. Null while no process runs at the place. */
  readonly admissions: (AdmissionReplica | null)[];
  /** Longer when the run is quiet. */
  sweepMs: number;
}

/** Returns one of the live hosts, or null if none is alive. */
export function anyOf<H extends HostedProcess>({ random }: RunParts, hosts: readonly (H | null)[]): H | null {
  const alive = hosts.filter((one): one is H => one !== null && one.host.isAlive);
  return alive.length === 0 ? null : random.pick(alive);
}

/** Sends a request to one of the live processes. */
export function requestAny<H extends HostedProcess, A>(
  parts: RunParts,
  from: Host,
  hosts: readonly (H | null)[],
  timeoutMs: number,
  serve: (to: H) => Promise<A>,
): Promise<A> {
  const to = anyOf(parts, hosts);
  return parts.network.request(from, to?.host ?? null, timeoutMs, () => serve(to as H));
}

/** A logger that reports errors as violations and drops everything else. */
export function logOf({ truth }: RunParts) {
  const nothing = (): void => undefined;
  return {
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: (facts: object, text: string) => truth.unforeseen(text, 'err' in facts ? facts.err : facts),
    child: notUsed,
  };
}

/** Replaces a function that no run calls. */
export function notUsed(): never {
  throw new Error('not used in a simulation');
}
