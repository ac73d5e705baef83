import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Bus } from '@gateway/bus';
import { secretFrom } from '@gateway/contracts/ids';
import {
  catalogRevisionUsed,
  edgeHealth,
  ENDPOINTS,
  aliasEntryKey,
  modelEntryKey,
  type CatalogAlias,
  usageEvents,
  usageSubjects,
  type CatalogModel,
  type CatalogProvider,
  type CatalogSource,
  type ReceivedOf,
  type ServiceName,
  type UsageEvent,
  edgeHeartbeat,
  edgeShortHeartbeat,
  subjectPattern,
} from '@gateway/contracts/messages';
import { startProviderSimulator, type ProviderSimulator } from '@gateway/provider-simulator';
import type { RestartOptions } from '@gateway/servers';
import { publicHalfOf, sealTo, Secret } from '@gateway/service-kit';
import { recordingLog, serviceContext, startTestBus, until, type LogLine, type OwnServer } from '@gateway/testkit';
import { EDGE_FIELDS } from '../src/config.js';
import { startEdge, type RunningEdge } from '../src/service.js';
import { FakeAdmission, serveFakeAdmission, TEST_PRICE } from './fake-admission.js';

/** Threads run compiled code. */
export const PARSE_THREAD_URL = new URL('../dist/parse/parse-thread.js', import.meta.url);
export const TEST_KEY = secretFrom('mgw_live_', '0123456789'.repeat(4));
export const TEST_MODEL = 'pub/model';
export const SOURCE_CREDENTIAL = 'provider-secret-1';
const SOURCE_KEY = new Secret(Buffer.alloc(32, 7));

/**
 * An edge in this process with its own NATS account, a fake admission, and the provider simulator.
 */
export interface EdgeWorld {
  readonly edge: RunningEdge;
  readonly admission: FakeAdmission;
  readonly provider: ProviderSimulator;
  readonly admissionBuses: readonly Bus[];
  /** Events in the stream, in order. */
  readonly events: UsageEvent[];
  /** The messages that the edge sent to the catalog about its sources and its catalog copy. */
  readonly healths: ReceivedOf<typeof edgeHealth>[];
  readonly mirrored: ReceivedOf<typeof catalogRevisionUsed>[];
  readonly log: readonly LogLine[];
  /** Starts another edge, which stops with the world. */
  startAnother(): Promise<RunningEdge>;
  publishCatalog(change?: (entries: CatalogEntries) => void): Promise<void>;
  /** Returns the revision of the last published catalog. */
  revision(): number;
  /** Connects another service to the same NATS server. */
  connect(service: ServiceName): Promise<Bus>;
  restartNats(options?: RestartOptions): Promise<void>;
  stopNats(): Promise<void>;
  /** Suspends the NATS server, with its connections open. The returned function resumes it. */
  hangNats(): () => void;
  eventOf(id: string): Promise<UsageEvent>;
  stop(): Promise<void>;
}

export interface CatalogEntries {
  readonly providers: CatalogProvider[];
  readonly models: CatalogModel[];
  readonly sources: CatalogSource[];
  readonly aliases: CatalogAlias[];
}

export interface EdgeWorldOptions extends OwnServer {
  readonly env?: Record<string, string>;
  readonly admissionReplicas?: number;
  /** A subject to which an own NATS server denies publishing for all services. */
  readonly withheld?: string;
}

export async function startEdgeWorld(options: EdgeWorldOptions = {}): Promise<EdgeWorld> {
  const bus = await startTestBus(options);
  const log = recordingLog();
  const admission = new FakeAdmission();
  const events: UsageEvent[] = [];
  const billing = await bus.connect('billing', 'b0');
  await billing.ensureStream({ ...STREAM, stream: 'USAGE', subjects: usageSubjects(), discard: 'new' });
  const consumer = billing.consume({
    stream: 'USAGE',
    durable: 'test',
    filterSubject: 'usage.>',
    batchMax: 100,
    maxAckPending: 1_000,
    ackWaitMs: 30_000,
    handler: async (batch) => {
      for (const delivery of batch) {
        const decoded = billing.decode(usageEvents, delivery.data);
        if (!decoded.ok) throw new Error(decoded.problem);
        events.push(...decoded.body.events);
        delivery.ack();
        if (delivery.sequence % TRIM_EVERY === 0) await billing.purgeStream('USAGE', delivery.sequence);
      }
    },
  });
  const admissionBuses: Bus[] = [];
  for (let replica = 0; replica < (options.admissionReplicas ?? 1); replica += 1) {
    const own = await bus.connect('admission', `a${replica}`);
    if (replica === 0) {
      await own.ensureStream({
        ...STREAM,
        stream: 'HEARTBEATS',
        subjects: [subjectPattern(edgeHeartbeat), subjectPattern(edgeShortHeartbeat)],
        discard: 'old',
        messagesPerSubjectMax: 1,
      });
    }
    serveFakeAdmission(own, admission);
    admissionBuses.push(own);
  }

  const provider = await startProviderSimulator({ requireKey: SOURCE_CREDENTIAL });
  const catalog = await bus.connect('catalog', 'c0');
  const entries: CatalogEntries = {
    providers: [],
    models: [modelEntry(TEST_MODEL)],
    aliases: [],
    sources: defaultSources(provider),
  };
  const healths: EdgeWorld['healths'] = [];
  const mirrored: EdgeWorld['mirrored'] = [];
  catalog.subscribe(edgeHealth, (health) => void healths.push(health));
  catalog.subscribe(catalogRevisionUsed, (each) => void mirrored.push(each));
  let revision = 0;
  const publishCatalog: EdgeWorld['publishCatalog'] = async (change) => {
    change?.(entries);
    revision += 1;
    const all = new Map<string, string>();
    for (const model of entries.models) all.set(modelEntryKey(model.id), JSON.stringify(model));
    for (const alias of entries.aliases) all.set(aliasEntryKey(alias.id), JSON.stringify(alias));
    for (const provider of entries.providers) all.set(`provider.${provider.id}`, JSON.stringify(provider));
    for (const source of entries.sources) all.set(`source.${source.id}`, JSON.stringify(source));
    await catalog.publishBucket('catalog', all, revision);
  };
  await publishCatalog();

  const env = { ...DEFAULT_ENV, GATEWAY_NATS_URL: bus.urlFor('edge-proxy'), ...options.env };
  const edges: RunningEdge[] = [];
  const startAnother = async (): Promise<RunningEdge> => {
    const context = serviceContext(EDGE_FIELDS, env, log, `e${edges.length}`, bus.clock);
    const edge = await startEdge(context, PARSE_THREAD_URL);
    edges.push(edge);
    await until('the edge is ready', () => context.ready.report().ready);
    return edge;
  };
  const edge = await startAnother();

  return {
    edge,
    admission,
    provider,
    admissionBuses,
    events,
    healths,
    mirrored,
    log: log.lines,
    startAnother,
    publishCatalog,
    revision: () => revision,
    connect: (service) => bus.connect(service, `${service}-0`),
    restartNats: async (restart = {}) => {
      if (bus.nats.restart === undefined) throw new Error('this NATS server cannot be restarted');
      await bus.nats.restart(restart);
    },
    stopNats: () => bus.nats.stop(),
    hangNats: () => {
      const { pid } = bus.nats;
      if (pid === null) throw new Error('this NATS server was not started by this test');
      process.kill(pid, 'SIGSTOP');
      waitUntilStopped(pid);
      return () => void process.kill(pid, 'SIGCONT');
    },
    eventOf: async (id) => {
      await until(`the event of ${id} is stored`, () => events.some((event) => event.id === id));
      return events.find((event) => event.id === id) as UsageEvent;
    },
    stop: async () => {
      await Promise.all(edges.map((each) => each.stop()));
      await consumer.stop();
      await Promise.all([provider.close(), bus.stop()]);
    },
  };
}

export function modelEntry(id: string): CatalogModel {
  return {
    v: 1,
    id,
    displayName: `Model ${id}`,
    active: true,
    available: true,
    kind: 'chat',
    contextLength: 128_000,
    maxOutputTokens: 8_192,
    bytesPerToken: 3,
    createdAt: 1_700_000_000_000,
    prices: [{ version: TEST_PRICE.version, effectiveFrom: 0, figures: TEST_PRICE.figures }],
  };
}

/** Seals a source's credential as the operator API does. */
export function sealCredential(text: string, source: string): string {
  return sealTo(text, source, publicHalfOf(SOURCE_KEY));
}

export function sourceEntry(id: string, baseUrl: string, more: Partial<CatalogSource> = {}): CatalogSource {
  return {
    v: 1,
    id,
    model: TEST_MODEL,
    provider: 'prov-1',
    baseUrl,
    upstreamModel: 'upstream-model',
    endpoints: [...ENDPOINTS],
    paths: {},
    auth: { type: 'bearer' },
    sealedCredential: sealCredential(SOURCE_CREDENTIAL, id),
    headers: {},
    betas: [],
    priority: 0,
    weight: 1,
    enabled: true,
    streamUsage: true,
    cancelStopsBilling: false,
    limits: { headersTimeoutMs: null, firstEventTimeoutMs: null, silenceTimeoutMs: null },
    costs: [],
    ...more,
  };
}

/** `src-a` uses listener a, `src-b` listener b. */
function defaultSources(provider: ProviderSimulator): CatalogSource[] {
  return [
    sourceEntry('src-a', provider.urls[0], { priority: 0 }),
    sourceEntry('src-b', provider.urls[1], { priority: 1 }),
  ];
}

/** Purges stored events in long runs, as billing trims settled ones (docs/protocol.md#r15). */
const TRIM_EVERY = 10_000;

const STREAM = {
  bytesMax: 64 * 1024 * 1024,
  ageMaxMs: 3_600_000,
  duplicateWindowMs: 1_000,
  replicas: 1,
} as const;

const DEFAULT_ENV = {
  GATEWAY_HOST: '127.0.0.1',
  GATEWAY_PORT: '0',
  GATEWAY_PUBLIC_URL: 'https://gateway.example',
  GATEWAY_BILLING_LINK_URL: 'https://billing.example/pay',
  GATEWAY_KEY_PEPPER: 'pepper-'.repeat(6),
  GATEWAY_KEY_PEPPER_PREVIOUS: 'older-pepper-'.repeat(4),
  GATEWAY_SOURCE_PRIVATE_KEY: SOURCE_KEY.reveal().toString('hex'),
  GATEWAY_ALLOW_PRIVATE_SOURCES: 'true',
  GATEWAY_HEARTBEAT_MS: '200',
  GATEWAY_DRAIN_MS: '2000',
  // High, so that a busy machine does not cause load shedding in a test.
  GATEWAY_SHED_DELAY_MS: '60000',
};

/** Most polls of a stopping process. Each of its threads stops some time after the signal. */
const LOOKS_MAX = 100_000;

/**
 * Returns when every thread has stopped. A thread that is still running could let an event through.
 */
function waitUntilStopped(pid: number): void {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return;
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    if (readdirSync(tasks).every((thread) => /\) T /.test(readFileSync(`${tasks}/${thread}/stat`, 'utf8')))) return;
  }
  throw new Error(`process ${pid} has not stopped`);
}
