import { Admission } from '@gateway/admission/admission.js';
import { RedisClock } from '@gateway/admission/limit-store/redis-clock.js';
import type { OtherReplicas } from '@gateway/admission/limit-store/run-agreement-rules.js';
import type { Heartbeat, Ports } from '@gateway/admission/ports.js';
import { usageEvents } from '@gateway/contracts/messages';
import { ReplicaLimitStore } from '../limit-store/replica.js';
import { onWire } from '../network/network.js';
import { RUN_CATALOG } from '../scenario/run-catalog.js';
import { Host } from '../time/host.js';
import { logOf, requestAny, type AdmissionReplica, type HostedProcess } from './run-parts.js';
import type { World } from './world.js';

/** Timeouts of requests to the owners, as in the bus adapter, and to the stream. */
const OWNERS_MS = 1_500;
const UNCHANGED_MS = 3_000;
const STORE_MS = 2_000;
const HEARTBEATS_MS = 2_000;
export const LEASE_MS = 10_000;
export const EXPIRY_MS = 30_000;

const { packed: packing, version } = usageEvents;

/** One replica of admission: the service's code with the ports of this run. */
export class AdmissionHost implements AdmissionReplica {
  readonly host: Host;
  readonly admission: Admission;
  readonly name: string;
  readonly #limitStore: ReplicaLimitStore;

  constructor(
    private readonly world: World,
    readonly place: number,
    start: number,
  ) {
    const { time, network, server, scenario, random } = world;
    const name = `admission${place}`;
    this.name = `${name}-${start}`;
    const host = new Host(name, scenario.skewsMs[name] ?? 0);
    this.host = host;
    const clock = new RedisClock();
    const onUse = (): void => this.admission.redisInUse();
    const own = { host, clock, random: random.fork(), others: this.#others(), onUse };
    this.#limitStore = new ReplicaLimitStore({ time, network, server, ...own });
    this.admission = new Admission({
      limitStore: this.#limitStore,
      clock,
      ...this.#neighbors(),
      listeners: { keysUsed: () => true, callsRefused: () => true },
      catalog: { view: () => RUN_CATALOG.view },
      backPressure: { engaged: () => null },
      log: logOf(world),
      durations: {
        leaseMs: LEASE_MS,
        expiryMs: EXPIRY_MS,
        get sweepMs() {
          return world.sweepMs;
        },
      },
      replica: this.name,
    });
    time.in(host, 0, () => {
      this.#limitStore.open();
      this.admission.start();
    });
  }

  takeHeartbeat(heartbeat: Heartbeat): void {
    this.admission.heartbeat(heartbeat).catch(() => undefined);
  }

  /** Called when the bus is back after a cut. */
  reconnected(): void {
    this.world.time.in(this.host, 0, () => this.#limitStore.publishRun());
  }

  /** Sends a message to all processes at these places. */
  #publish<T extends HostedProcess>(places: readonly (T | null)[], take: (to: T) => void): void {
    for (const to of places) if (to) this.world.network.post(this.host, to.host, () => take(to));
  }

  #others(): OtherReplicas {
    const { world, host } = this;
    const { admissions, edges, network, streams } = world;
    return {
      publish: (run) => {
        if (network.isCut(host)) return;
        const sent = onWire(run);
        this.#publish(admissions, ({ admission }) => admission.observeRun(sent));
        this.#publish(edges, ({ deliver }) => deliver.report({ epochs: [], run: { ...sent } }));
      },
      areReachable: () =>
        network
          .request(host, streams.host, HEARTBEATS_MS, () => true)
          .then(
            () => true,
            () => false,
          ),
    };
  }

  #neighbors(): Pick<Ports, 'owners' | 'edges' | 'journal'> {
    const { world, host } = this;
    const { accounts, streams, network, edges, billings } = world;
    const askAccounts = <A>(timeoutMs: number, answer: () => A): Promise<A> =>
      network.request(host, accounts.host, timeoutMs, answer);
    const askStream = <A>(answer: () => A): Promise<A> => network.request(host, streams.host, HEARTBEATS_MS, answer);
    return {
      owners: {
        find: (digests) => askAccounts(OWNERS_MS, () => accounts.find(digests)),
        loadAccount: (account, key) => askAccounts(OWNERS_MS, () => accounts.load(account, key)),
        loadBalances: (question) => {
          const sent = { ...question, names: [...question.names], ids: [...question.ids] };
          return requestAny(world, host, billings, OWNERS_MS, (billing) => billing.load(sent));
        },
        unchangedBalances: (asked) =>
          requestAny(world, host, billings, UNCHANGED_MS, (billing) => billing.unchanged({ accounts: asked })),
        unchangedRecords: (asked) => askAccounts(UNCHANGED_MS, () => ({ accounts: accounts.unchanged(asked) })),
      },
      edges: {
        listens: () => !network.isCut(host),
        lastHeartbeats: (edge) => askStream(() => streams.lastHeartbeats(edge)),
        heartbeatMarks: () => askStream(() => streams.heartbeatMarks()),
        forget: (edge, upTo) => askStream(() => streams.forget(edge, upTo)),
        heartbeatReply: (edge, reply) => {
          const to = edges.find((one) => one?.id === edge) ?? null;
          const sent = onWire(reply);
          this.#publish([to], ({ deliver }) => deliver.reply(sent));
        },
        report: (epochs) => {
          const sent = onWire({ epochs: [...epochs] });
          this.#publish(edges, ({ deliver }) => deliver.report(sent));
          this.#publish(world.admissions, ({ admission }) => admission.observeEpochs([...epochs]));
        },
      },
      journal: {
        store: (group, events) => {
          const data = Buffer.from(JSON.stringify(packing?.body.pack({ events }, version)));
          return network.request(host, streams.host, STORE_MS, () => streams.storeUsage(group, data));
        },
      },
    };
  }
}
