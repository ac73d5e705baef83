import type { Admission } from '@gateway/admission/admission.js';
import type { Heartbeat } from '@gateway/admission/ports.js';
import type { Truth } from '../check/truth.js';
import type { LimitStoreServer } from '../limit-store/server.js';
import type { StandbyCopies } from '../ledger/lose-commits.js';
import type { MemoryLedger } from '../ledger/memory-ledger.js';
import type { Network } from '../network/network.js';
import type { Streams } from '../network/streams.js';
import type { RunCatalog } from '../scenario/run-catalog.js';
import type { Scenario } from '../scenario/scenario.js';
import type { Host } from '../time/host.js';
import type { Random } from '../time/random.js';
import type { VirtualTime } from '../time/virtual-time.js';

/** What every host of this run has. */
export interface Hosted {
  readonly host: Host;
  /** Ends what lives outside the host's own events. */
  close(): void;
}

/** A replica of admission, as other hosts see it. */
export interface AdmissionReplica extends Hosted {
  /** By which it is asked itself. */
  readonly name: string;
  readonly admission: Admission;
  takeHeartbeat(heartbeat: Heartbeat): void;
  /** The bus is back after a cut. */
  reconnected(): void;
}

/** Everything that hosts of one run share. */
export interface RunParts {
  readonly scenario: Scenario;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly network: Network;
  readonly streams: Streams;
  readonly server: LimitStoreServer;
  readonly ledger: MemoryLedger;
  readonly standby: StandbyCopies;
  readonly catalog: RunCatalog;
  readonly truth: Truth;
  /** By place; a restart puts a new one there, null while nothing runs there. */
  readonly admissions: (AdmissionReplica | null)[];
  /** Lengthened when the run is quiet. */
  sweepMs: number;
}

/** One of those that live; null when none does. */
export function anyOf<H extends Hosted>({ random }: Pick<RunParts, 'random'>, hosts: readonly (H | null)[]): H | null {
  const alive = hosts.filter((one): one is H => one !== null && one.host.isAlive);
  return alive.length === 0 ? null : random.pick(alive);
}

/** A log that keeps nothing but what nobody foresaw. */
export function logOf({ truth }: Pick<RunParts, 'truth'>): {
  debug(): void;
  info(): void;
  warn(): void;
  error(facts: object, text: string): void;
  child(): never;
} {
  const nothing = (): void => undefined;
  return {
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: (facts, text) => truth.unforeseen(text, 'err' in facts ? facts.err : facts),
    child: () => {
      throw new Error('nobody asks for one');
    },
  };
}
