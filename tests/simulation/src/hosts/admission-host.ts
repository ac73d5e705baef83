import { Admission } from '@gateway/admission/admission.js';
import { RedisClock } from '@gateway/admission/limit-store/redis-clock.js';
import type { OtherReplicas } from '@gateway/admission/limit-store/run-agreement-rules.js';
import type { Heartbeat, Ports } from '@gateway/admission/ports.js';
import { usageEvents } from '@gateway/contracts/messages';
import { ReplicaLimitStore } from '../limit-store/replica.js';
import { onWire } from '../network/network.js';
import { request } from '../network/request.js';
import { Host } from '../time/host.js';
import { anyOf, logOf, type AdmissionReplica } from './run-parts.js';
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
    const others = this.#others();
    this.#limitStore = new ReplicaLimitStore({ time, network, server, host, clock, random: random.fork(), others });
    this.admission = new Admission({
      limitStore: this.#limitStore,
      clock,
      ...this.#neighbours(),
      listeners: { keysUsed: () => true, callsRefused: () => true },
      catalog: { view: () => world.catalog.view },
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
      this.#limitStore.open(() => this.admission.redisInUse());
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

  close(): void {
    this.#limitStore.close();
  }

  #others(): OtherReplicas {
    const { world, host } = this;
    const { admissions, edges, network, streams } = world;
    return {
      publish: (run) => {
        if (network.isCut(host)) return;
        const sent = onWire(run);
        for (const to of admissions) if (to) network.post(host, to.host, () => to.admission.observeRun(sent));
        for (const to of edges)
          if (to) network.post(host, to.host, () => to.deliver.report({ epochs: [], run: { ...sent } }));
      },
      areReachable: () =>
        request(world, host, streams.host, HEARTBEATS_MS, async () => true).then(
          () => true,
          () => false,
        ),
    };
  }

  #neighbours(): Pick<Ports, 'owners' | 'edges' | 'journal'> {
    const { world, host } = this;
    const { accounts, streams, network, edges } = world;
    return {
      owners: {
        find: (digests) => request(world, host, accounts.host, OWNERS_MS, async () => accounts.find(digests)),
        loadAccount: (account, key) =>
          request(world, host, accounts.host, OWNERS_MS, async () => accounts.load(account, key)),
        loadBalances: (question) => {
          const billing = anyOf(world, world.billings);
          return request(world, host, billing?.host ?? null, OWNERS_MS, async () => {
            if (billing === null) throw new Error('no billing worker is alive');
            return billing.load({ ...question, names: [...question.names], ids: [...question.ids] });
          });
        },
        unchangedBalances: (asked) => {
          const billing = anyOf(world, world.billings);
          return request(world, host, billing?.host ?? null, UNCHANGED_MS, async () => {
            if (billing === null) throw new Error('no billing worker is alive');
            return billing.unchanged({ accounts: asked });
          });
        },
        unchangedRecords: (asked) =>
          request(world, host, accounts.host, UNCHANGED_MS, async () => ({ accounts: accounts.unchanged(asked) })),
      },
      edges: {
        listens: () => !network.isCut(host),
        lastHeartbeats: (edge) =>
          request(world, host, streams.host, HEARTBEATS_MS, async () => streams.lastHeartbeats(edge)),
        heartbeatMarks: () => request(world, host, streams.host, HEARTBEATS_MS, async () => streams.heartbeatMarks()),
        forget: (edge, upTo) =>
          request(world, host, streams.host, HEARTBEATS_MS, async () => streams.forget(edge, upTo)),
        heartbeatReply: (edge, reply) => {
          const to = edges.find((one) => one?.id === edge);
          const sent = onWire(reply);
          if (to) network.post(host, to.host, () => to.deliver.reply(sent));
        },
        report: (epochs) => {
          streams.traffic.requests += 1;
          for (const to of edges) {
            const sent = onWire({ epochs: [...epochs] });
            if (to) network.post(host, to.host, () => to.deliver.report(sent));
          }
          for (const to of world.admissions) {
            if (to) network.post(host, to.host, () => to.admission.observeEpochs([...epochs]));
          }
        },
      },
      journal: {
        store: async (group, events) => {
          const data = Buffer.from(JSON.stringify(packing?.body.pack({ events }, version)));
          await request(world, host, streams.host, STORE_MS, async () => streams.storeUsage(group, data));
        },
      },
    };
  }
}
