import type { CatalogView } from '@gateway/admission/cores';
import type { CatalogModel, CatalogSource } from '@gateway/contracts/messages';
import type { Truth } from '../check/truth.js';
import type { LimitStoreServer } from '../gate/gate-server.js';
import type { MemoryLedger } from '../ledger/memory-ledger.js';
import type { Network } from '../network/network.js';
import type { Streams } from '../network/streams.js';
import type { Scenario } from '../scenario/scenario.js';
import type { Host } from '../time/host.js';
import type { Random } from '../time/random.js';
import type { VirtualTime } from '../time/virtual-time.js';
import type { AccountsHost } from './accounts-host.js';
import type { AdmissionHost } from './admission-host.js';
import type { BillingHost } from './billing-host.js';
import type { EdgeHost } from './edge-host.js';
import type { Outbox } from './outbox.js';

/** The catalog does not change in a run. */
export interface RunCatalog {
  readonly models: readonly CatalogModel[];
  readonly sources: readonly CatalogSource[];
  readonly view: CatalogView;
}

/** Everything that hosts and checks of one run share. */
export interface World {
  readonly scenario: Scenario;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly network: Network;
  readonly streams: Streams;
  readonly server: LimitStoreServer;
  readonly ledger: MemoryLedger;
  readonly catalog: RunCatalog;
  readonly truth: Truth;
  readonly accounts: AccountsHost;
  readonly outbox: Outbox;
  /** By place; a restart puts a new one there, null while nothing runs there. */
  readonly admissions: (AdmissionHost | null)[];
  readonly billings: (BillingHost | null)[];
  readonly edges: (EdgeHost | null)[];
  /** Lengthened when the run is quiet. */
  sweepMs: number;
}

/** What every host of this run has. */
export interface Hosted {
  readonly host: Host;
  /** Ends what lives outside the host's own events. */
  close(): void;
}

/** One of those that live; null when none does. */
export function anyOf<H extends Hosted>(world: World, hosts: readonly (H | null)[]): H | null {
  const alive = hosts.filter((one): one is H => one !== null && one.host.isAlive);
  return alive.length === 0 ? null : world.random.pick(alive);
}

/** A log that keeps nothing but what nobody foresaw. */
export function logOf(world: World): {
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
    error: (facts, text) => world.truth.unforeseen(text, 'err' in facts ? facts.err : facts),
    child: () => {
      throw new Error('nobody asks for one');
    },
  };
}
