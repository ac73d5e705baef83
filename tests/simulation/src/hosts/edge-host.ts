import { BASE_FIELDS, readConfig, ReadyChecks, systemClock } from '@gateway/service-kit';
import { handleModelCall } from '@gateway/edge-proxy/call/handle-model-call.js';
import { EDGE_FIELDS } from '@gateway/edge-proxy/config.js';
import { ENDPOINT_TABLE } from '@gateway/edge-proxy/formats/endpoints.js';
import { parseCall } from '@gateway/edge-proxy/parse/parse-call.js';
import { createEdgeComponents, type EdgeAdapters, type EdgeComponents } from '@gateway/edge-proxy/edge.js';
import type { AdmissionBatchReply, BusClient, ClientRequest } from '@gateway/edge-proxy/ports.js';
import { SimulatedSources } from '../actors/source-stage.js';
import { onWire } from '../network/network.js';
import { RUN_CATALOG } from '../scenario/run-catalog.js';
import { Host } from '../time/host.js';
import { PEPPER } from './accounts-host.js';
import { anyOf, logOf, notUsed, type HostedProcess, type RunParts } from './run-parts.js';

const STORE_USAGE_MS = 2_000;
const STORE_HEARTBEAT_MS = 1_500;
const PATH = '/v1/chat/completions';

/** Short timeouts, so that an attempt at a silent provider ends within a run. */
const SETTINGS = {
  GATEWAY_NATS_URL: 'nats://simulation:4222',
  GATEWAY_PUBLIC_URL: 'https://gateway.example',
  GATEWAY_KEY_PEPPER: PEPPER,
  GATEWAY_SOURCE_PRIVATE_KEY: '07'.repeat(32),
  GATEWAY_UPSTREAM_DEADLINE_MS: '20000',
  GATEWAY_READ_AFTER_DISCONNECT_MS: '5000',
};
const config = readConfig({ ...BASE_FIELDS, ...EDGE_FIELDS }, SETTINGS);

/** One edge process: the service's code with the bus, sources and clients of this run. */
export class EdgeHost implements HostedProcess {
  readonly host: Host;
  readonly id: string;
  readonly verbs: EdgeComponents;
  /** Delivers a message of the bus. */
  readonly deliver: { reply(reply: object): void; report(report: object): void };
  readonly #reconnected: (() => void)[] = [];

  constructor(
    private readonly world: RunParts,
    readonly place: number,
    start: number,
  ) {
    const { time, scenario } = world;
    const name = `edge${place}`;
    const host = new Host(name, scenario.skewsMs[name] ?? 0);
    this.host = host;
    this.id = `${name}-${start}`;
    const handlers = new Map<string, (body: object) => void>();
    this.deliver = {
      reply: (reply) => handlers.get('edge.heartbeat-reply')?.(reply),
      report: (report) => handlers.get('edge.resync-request')?.(report),
    };
    // Timers that are created now belong to this host.
    time.current = host;
    this.verbs = createEdgeComponents(
      {
        config,
        log: logOf(world),
        clock: { ...systemClock, nowMs: () => time.now + host.skewMs },
        replica: name,
        ready: new ReadyChecks(),
        stopping: new AbortController().signal,
      },
      this.#adapters(handlers),
      this.id,
    );
    time.current = null;
    time.in(host, 0, () => void this.verbs.heartbeats.send());
  }

  /** Handles a client's request like the HTTP server. */
  serve(clientRequest: ClientRequest): void {
    const row = ENDPOINT_TABLE.get(PATH);
    if (row === undefined) throw new Error('the endpoint is not served');
    handleModelCall(this.verbs.edge, row, clientRequest).catch((error: unknown) =>
      this.world.truth.unforeseen('a request failed inside the edge', error),
    );
  }

  /** Called when the bus is back after a cut. */
  reconnected(): void {
    for (const listener of this.#reconnected) this.world.time.in(this.host, 0, listener);
  }

  #adapters(handlers: Map<string, (body: object) => void>): EdgeAdapters {
    const { models, sources } = RUN_CATALOG;
    const opened = sources.map((source) => {
      return { source, origin: source.baseUrl, basePath: '', headers: [], authorizer: null };
    });
    return {
      bus: {
        subscribe: (contract, handler) => {
          handlers.set(contract.name, (body) => void handler(body as never));
          return undefined as never;
        },
        onReconnect: (listener) => {
          this.#reconnected.push(listener);
          return () => undefined;
        },
      },
      busClient: this.#busClient(),
      catalog: {
        ready: () => true,
        revision: () => 1,
        resolve: (name) => name,
        model: (id) => models.find((model) => model.id === id),
        models: () => models,
        entry: (id) => sources.find((source) => source.id === id),
        source: (id) => opened.find(({ source }) => source.id === id),
        problemOf: () => null,
        sourcesOf: (model) => sources.filter((source) => source.model === model),
        onChange: () => undefined,
      },
      sources: new SimulatedSources(this.world, this.host),
      bodies: { parse: (row, headers, { bytes }) => parseCall(row, headers, bytes) },
      // Not the memory of the machine that runs the simulation.
      memoryShare: () => 0,
    };
  }

  #busClient(): BusClient {
    const { world, host } = this;
    const { streams, network, truth } = world;
    return {
      requestAdmission: (batch, on, to) => this.#requestAdmission(batch, on, to),
      authorize: notUsed,
      usage: notUsed,
      putAnswer: notUsed,
      getAnswer: notUsed,
      confirmAnswer: notUsed,
      countAnswers: notUsed,
      readQuota: notUsed,
      replaceQuota: notUsed,
      storeUsage: async (group, message) => {
        truth.frozen(message);
        await network.step(host, 'sends');
        const sent = Buffer.from(message);
        await network.request(host, streams.host, STORE_USAGE_MS, () => {
          streams.storeUsage(group, sent);
          truth.stored(sent);
        });
        await network.step(host, 'stored');
      },
      storeHeartbeat: (heartbeat, place) => {
        const sent = onWire(heartbeat);
        truth.releasing(sent.releases);
        const taker = anyOf(world, world.admissions);
        return network.request(host, streams.host, STORE_HEARTBEAT_MS, () => {
          streams.storeHeartbeat(sent, place);
          if (taker && !network.isCut(network.heartbeats))
            network.post(streams.host, taker.host, () => taker.takeHeartbeat(onWire(sent)));
        });
      },
      publishHealth: () => undefined,
    };
  }

  /** Sends a batch and delivers its responses until it is closed or times out. */
  #requestAdmission(...[batch, on, to]: Parameters<BusClient['requestAdmission']>): { close(): void } {
    const { world, host } = this;
    const { time, network, truth, admissions } = world;
    truth.releasing(batch.releases);
    let isOpen = true;
    const fault = (code: string): void => {
      if (!isOpen) return;
      isOpen = false;
      on.fault(code);
    };
    const late = time.in(host, to.timeoutMs, () => fault('timeout'));
    const named = admissions.find((one) => one !== null && one.name === to.replica && one.host.isAlive) ?? null;
    const asked = to.replica === undefined ? anyOf(world, admissions) : named;
    if (network.isCut(host)) time.in(host, 0, () => fault('disconnected'));
    else if (asked === null) time.in(host, 0, () => fault('no_responders'));
    else {
      const sent = onWire(batch);
      network.post(host, asked.host, () => {
        const answer = (said: AdmissionBatchReply): void => {
          const received = onWire(said);
          network.post(asked.host, host, () => {
            if (!isOpen) return;
            truth.answered(received.answers);
            on.answer(received);
          });
        };
        asked.admission
          .batch(onWire(sent), answer)
          .catch((error: unknown) => truth.unforeseen('an admission batch failed', error));
      });
    }
    return {
      close: () => {
        isOpen = false;
        late.isCancelled = true;
      },
    };
  }
}
