import { Admission, RedisClock } from '@gateway/admission/cores';
import type { Beat, Ports } from '@gateway/admission/cores';
import { ReplicaGate } from '../gate/replica-gate.js';
import { onWire } from '../network/network.js';
import { request } from '../network/request.js';
import { Host } from '../time/host.js';
import { anyOf, logOf, type Hosted, type World } from './world.js';

/** The owners' time-out, as the bus adapter has it; and the stream's. */
const OWNERS_MS = 1_500;
const STORE_MS = 2_000;
const BEATS_MS = 2_000;
export const LEASE_MS = 10_000;
export const EXPIRY_MS = 30_000;

/** One replica of admission: its own code over a gate, a bus and owners of this run. */
export class AdmissionHost implements Hosted {
  readonly host: Host;
  readonly admission: Admission;
  /** By which it is asked itself. */
  readonly name: string;
  readonly #gate: ReplicaGate;

  constructor(
    private readonly world: World,
    readonly place: number,
    incarnation: number,
  ) {
    const { time, network, server, scenario, random } = world;
    const name = `admission${place}`;
    this.name = `${name}-${incarnation}`;
    const host = new Host(name, scenario.skewsMs[name] ?? 0);
    this.host = host;
    const clock = new RedisClock();
    this.#gate = new ReplicaGate({ time, network, server, host, clock, random: random.fork() });
    this.admission = new Admission({
      gate: this.#gate,
      clock,
      ...this.#neighbours(),
      listeners: { keysUsed: () => true, callsRefused: () => true },
      catalog: { view: () => world.catalog.view },
      brakes: { engaged: () => null },
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
      this.#gate.open(() => this.admission.redisInUse());
      this.admission.start();
    });
  }

  takeBeat(beat: Beat): void {
    this.admission.beat(beat).catch(() => undefined);
  }

  close(): void {
    this.#gate.close();
  }

  #neighbours(): Pick<Ports, 'owners' | 'edges' | 'journal'> {
    const { world, host } = this;
    const { accounts, streams, network, edges } = world;
    return {
      owners: {
        find: (digests) => request(world, host, accounts.host, OWNERS_MS, async () => accounts.find(digests)),
        loadAccount: (account, key) =>
          request(world, host, accounts.host, OWNERS_MS, async () => accounts.load(account, key)),
        loadStanding: (question) => {
          const billing = anyOf(world, world.billings);
          return request(world, host, billing?.host ?? null, OWNERS_MS, async () => {
            if (billing === null) throw new Error('there is none');
            return billing.load({ ...question, names: [...question.names], ids: [...question.ids] });
          });
        },
      },
      edges: {
        lastBeats: () => request(world, host, streams.host, BEATS_MS, async () => streams.lastBeats()),
        verdict: (edge, verdict) => {
          const to = edges.find((one) => one?.id === edge);
          const sent = onWire(verdict);
          if (to) network.post(host, to.host, () => to.hear.verdict(sent));
        },
        report: (tokens) => {
          for (const to of edges) {
            const sent = onWire({ tokens: [...tokens] });
            if (to) network.post(host, to.host, () => to.hear.report(sent));
          }
        },
      },
      journal: {
        store: async (shard, events) => {
          const data = Buffer.from(JSON.stringify({ events, v: 1 }));
          await request(world, host, streams.host, STORE_MS, async () => streams.storeUsage(shard, data));
        },
      },
    };
  }
}
