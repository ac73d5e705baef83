import { makeUuidV7 } from '@gateway/contracts/ids';
import {
  type AccountTerms,
  type AdmitEntry,
  type BatchAnswer,
  type CatalogModel,
  type CatalogSource,
  type Endpoint,
  type HeartbeatCall,
  type HoldFields,
  type KeyRecord,
  type MemberRecord,
  type ReleaseEntry,
  type VersionedBalance,
  type UsageEvent,
  TERMS_WITHOUT_PLAN,
} from '@gateway/contracts/messages';
import { NO_KEY_TERMS } from '@gateway/contracts/operator';
import type { RunningServer } from '@gateway/servers';
import { systemClock } from '@gateway/service-kit';
import { silentLog, startTestRedis, until, type OwnServer } from '@gateway/testkit';
import { patientClock } from '@gateway/testkit/clocks';
import { testEpoch } from '@gateway/testkit/random';
import { RedisClock } from '../src/limit-store/redis-clock.js';
import { RedisLimitStore } from '../src/limit-store/redis-limit-store.js';
import { Admission } from '../src/admission.js';
import { buildCatalogView } from '../src/admit/catalog-view-rules.js';
import type { CatalogView } from '../src/admit/catalog-view-rules.js';
import type { StoredHeartbeat } from '../src/heartbeats/last-heartbeats-rules.js';
import type { Heartbeat, Durations, Edges, Log, Ports, RefusalCount } from '../src/ports.js';
import { FrozenClock, scriptsWithoutServerTime } from './frozen-clock.js';

/** Author of an operator's commands. */
export const AUTHOR = {
  actor: 'operator:root',
  origin: { client: '192.0.2.1', agent: 'tests', requestId: 'req_test' },
} as const;

/** Nano-USD per call of the test models. Without token prices, amounts are easy to read. */
export const PRICE = 1_000_000;

export const NO_PLAN: AccountTerms = { ...TERMS_WITHOUT_PLAN, requestsPerMinute: 1_000_000, concurrency: 1_000_000 };

export type PlanWindow = AccountTerms['windows'][number];

export const usdWindow = (type: PlanWindow['type'], limit: number): PlanWindow => ({
  type,
  unit: 'usd',
  limit,
  label: type,
});
export const requestsWindow = (type: PlanWindow['type'], limit: number): PlanWindow => ({
  ...usdWindow(type, limit),
  unit: 'requests',
});

/** The answers of accounts and billing. Tests may change them. */
export interface OwnerState {
  readonly accounts: Map<string, AccountState>;
  readonly digests: Map<string, { account: string; key: string }>;
  /** If true, the owner does not respond. */
  accountsDown: boolean;
  billingDown: boolean;
  /** Awaited before each answer, so that a test can delay the owners. */
  delay: () => Promise<void>;
  caughtUpTo: () => number;
  readonly asked: {
    find: number;
    loadAccount: number;
    loadBalances: { account: string; names: readonly string[]; ids: readonly string[]; afterLoss: boolean }[];
    unchanged: number;
  };
}

export interface AccountState {
  state: 'active' | 'suspended';
  version: number;
  readonly keys: Map<string, KeyRecord>;
  readonly members: Map<string, MemberRecord>;
  terms: { value: AccountTerms; version: number };
  readonly rows: Map<string, { value: number | null; version: number }>;
  readonly records: Set<string>;
  ledgerEpoch: string;
}

/** The account's version in the ledger: that of its newest balance or of its terms. */
function versionOf({ terms, rows }: AccountState): number {
  return Math.max(terms.version, ...[...rows.values()].map(({ version }) => version));
}

export interface World {
  readonly server: RunningServer;
  readonly owners: OwnerState;
  readonly events: UsageEvent[];
  readonly heartbeatReplies: { edge: string; heartbeatReply: Parameters<Edges['heartbeatReply']>[1] }[];
  readonly reports: { bucket: number; epoch: string }[][];
  readonly uses: { key: string; at: number }[][];
  readonly refused: { minute: number; rows: readonly RefusalCount[] }[];
  /** If true, no published message arrives. */
  deaf: boolean;
  /** Whether heartbeats reach the replicas. */
  listens: boolean;
  readonly kept: Map<string, StoredHeartbeat>;
  catalog: CatalogView | null;
  backPressureReason: string | null;
  /** Advances the clock of all replicas. */
  advance(ms: number): void;
  /** Sets the clocks of a frozen world. */
  setTime(ms: number): void;
  /** Starts a further replica on the same Redis. */
  replica(options?: ReplicaOptions): Promise<Replica>;
  stop(): Promise<void>;
}

export interface ReplicaOptions {
  readonly durations?: Partial<Durations>;
  readonly log?: Log;
  /**
   * If true, the replica recovers a lost limit store without the heartbeats. A test of the recovery
   * must detect this.
   */
  readonly ignoresHeartbeats?: boolean;
}

export interface Replica {
  readonly admission: Admission;
  readonly clock: RedisClock;
  readonly limitStore: RedisLimitStore;
  readonly ports: Ports;
  /** Advances the monotonic clock, which measures this process's deadlines. */
  pass(ms: number): void;
  stop(): Promise<void>;
}

/** @param frozenAt freezes the time until the test changes it; without it, time passes from now */
export async function makeWorld({ frozenAt, own }: { frozenAt?: number } & OwnServer = {}): Promise<World> {
  const redis = await startTestRedis({ own });
  const owners = makeOwners();
  const replicas: Replica[] = [];
  const frozen = frozenAt !== undefined;
  let offsetMs = frozenAt ?? 0;
  const world: World = {
    server: redis.server,
    owners,
    events: [],
    heartbeatReplies: [],
    reports: [],
    uses: [],
    refused: [],
    deaf: false,
    listens: true,
    kept: new Map(),
    catalog: testCatalog(),
    backPressureReason: null,
    advance(ms) {
      offsetMs += ms;
      for (const replica of replicas) replica.clock.shift(offsetMs);
    },
    setTime(ms) {
      if (!frozen) throw new Error('the time of this world goes on');
      world.advance(ms - offsetMs);
    },
    async replica(options = {}) {
      const clock = frozen ? new FrozenClock(offsetMs) : new RedisClock(offsetMs, own ? systemClock : patientClock);
      const replica = await startReplica(world, `replica${replicas.length}`, clock, options);
      replicas.push(replica);
      return replica;
    },
    async stop() {
      for (const replica of replicas) await replica.stop();
      await redis.stop();
    },
  };
  return world;
}

/** Sets the clock of all replicas to that many milliseconds after the start of the next minute. */
export function toMinute(world: World, { clock }: Replica, afterMs: number): void {
  world.advance(60_000 - (clock.now() % 60_000) + afterMs);
}

export function makeOwners(): OwnerState {
  return {
    accounts: new Map(),
    digests: new Map(),
    accountsDown: false,
    billingDown: false,
    delay: async () => undefined,
    caughtUpTo: () => Date.now(),
    asked: { find: 0, loadAccount: 0, loadBalances: [], unchanged: 0 },
  };
}

async function startReplica(world: World, name: string, clock: RedisClock, options: ReplicaOptions): Promise<Replica> {
  const log = options.log ?? silentLog;
  const scripts = clock instanceof FrozenClock ? scriptsWithoutServerTime() : undefined;
  const limitStore = new RedisLimitStore(world.server.url, clock, log, scripts);
  limitStore.open();
  let passedMs = 0;
  const ports: Ports = {
    limitStore,
    clock: {
      now: () => clock.now(),
      wall: () => clock.wall(),
      monotonic: () => clock.monotonic() + passedMs,
      timers: clock.timers,
    },
    owners: ownersOf(world.owners),
    edges: {
      listens: () => world.listens,
      lastHeartbeats: async (edge) => {
        const kept = options.ignoresHeartbeats ? [] : [...world.kept.values()];
        return kept.filter(({ heartbeat }) => edge === undefined || heartbeat.edge === edge);
      },
      heartbeatMarks: async () =>
        [...world.kept.values()].map(({ heartbeat: { edge }, ...mark }) => ({ edge, ...mark })),
      forget: async (edge, upToSequence) => {
        for (const [key, { heartbeat, sequence }] of world.kept)
          if (heartbeat.edge === edge && sequence <= upToSequence) world.kept.delete(key);
      },
      heartbeatReply: (edge, heartbeatReply) => void world.heartbeatReplies.push({ edge, heartbeatReply }),
      report: (epochs) => void world.reports.push([...epochs]),
    },
    journal: { store: async (_shard, events) => void world.events.push(...events) },
    listeners: {
      keysUsed: (uses) => !world.deaf && world.uses.push([...uses]) > 0,
      callsRefused: (minute, rows) => !world.deaf && world.refused.push({ minute, rows }) > 0,
    },
    catalog: { view: () => world.catalog },
    backPressure: { engaged: () => world.backPressureReason },
    log,
    // A busy machine must not turn a decision into a fault. The default is tested separately.
    durations: { leaseMs: 30_000, expiryMs: 120_000, sweepMs: SWEEP_MS, decideMs: 60_000, ...options.durations },
    replica: name,
  };
  const admission = new Admission(ports);
  await until('the limit store is usable', () => limitStore.usable());
  await admission.sweep();
  await until('all buckets are open', () => admission.bucketsPending() === 0);
  return {
    admission,
    clock,
    limitStore,
    ports,
    pass: (ms) => void (passedMs += ms),
    async stop() {
      await admission.stop();
      limitStore.close();
    },
  };
}

/** Tests start sweeps explicitly. The time between two sweeps never counts as silence. */
const SWEEP_MS = 600_000;

/** Answers like accounts and billing. */
export function ownersOf(state: OwnerState): Ports['owners'] {
  return {
    async find(digests) {
      state.asked.find += 1;
      await state.delay();
      if (state.accountsDown) throw new Error('no responders');
      for (const digest of digests) {
        const found = state.digests.get(digest);
        if (found) return { ...found, digest };
      }
      return null;
    },
    async loadAccount(account, key) {
      state.asked.loadAccount += 1;
      await state.delay();
      if (state.accountsDown) throw new Error('no responders');
      const known = state.accounts.get(account);
      const record = (key === null ? null : known?.keys.get(key)) ?? null;
      return {
        account: known ? { account, state: known.state, version: known.version } : null,
        key: record,
        member: record ? (known?.members.get(record.member) ?? null) : null,
      };
    },
    async loadBalances({ account, names, ids, afterLoss }) {
      state.asked.loadBalances.push({ account, names, ids, afterLoss });
      await state.delay();
      if (state.billingDown) throw new Error('no responders');
      const known = state.accounts.get(account);
      if (!known) throw new Error(`no account ${account}`);
      const rows = new Map<string, VersionedBalance>();
      for (const name of ['wallet', ...names]) {
        const row = known.rows.get(name) ?? { value: name === 'wallet' ? null : 0, version: 0 };
        rows.set(name, { name, ...row });
      }
      for (const [name, row] of known.rows) if (name.startsWith('w:')) rows.set(name, { name, ...row });
      return {
        ledgerEpoch: known.ledgerEpoch,
        snapshot: {
          account,
          rows: [...rows.values()],
          terms: known.terms,
          closed: ids.filter((id) => known.records.has(id)),
        },
        caughtUpTo: state.caughtUpTo(),
        version: versionOf(known),
      };
    },
    async unchangedBalances(asked) {
      state.asked.unchanged += 1;
      await state.delay();
      if (state.billingDown) throw new Error('no responders');
      const accounts = asked.flatMap(({ account, termsVersion, rows }) => {
        const known = state.accounts.get(account);
        if (known === undefined || known.terms.version !== termsVersion) return [];
        const named = new Map(rows.map(({ name, version }) => [name, version]));
        for (const name of known.rows.keys()) if (/^w:(session|week)/.test(name) && !named.has(name)) return [];
        for (const [name, version] of named) if ((known.rows.get(name)?.version ?? 0) !== version) return [];
        return [{ account, version: versionOf(known) }];
      });
      const [first] = state.accounts.values();
      return { ledgerEpoch: first?.ledgerEpoch ?? '', accounts };
    },
    async unchangedRecords(asked) {
      state.asked.unchanged += 1;
      await state.delay();
      if (state.accountsDown) throw new Error('no responders');
      const accounts = asked.flatMap(({ account, version, keys, members }) => {
        const known = state.accounts.get(account);
        const isSame =
          known?.version === version &&
          keys.every((key) => known.keys.get(key.id)?.version === key.version) &&
          members.every((member) => known.members.get(member.id)?.version === member.version);
        return isSame ? [account] : [];
      });
      return { accounts };
    },
  };
}

let accounts = 0;

/** A new account with one key, as its owners have it. */
export interface TestAccount {
  readonly account: string;
  readonly key: string;
  readonly digest: string;
  readonly member: string;
  readonly state: AccountState;
  keyRecord(): KeyRecord;
  changeKey(change: Partial<KeyRecord>): KeyRecord;
}

export function makeAccount(
  world: Pick<World, 'owners'>,
  options: { wallet?: number | null; terms?: Partial<AccountTerms>; key?: Partial<KeyRecord>; memberCap?: number } = {},
): TestAccount {
  accounts += 1;
  const name = `acc-${process.pid}-${accounts}`;
  const key = `key-${process.pid}-${accounts}`;
  const member = `mem-${accounts}`;
  const digest = accounts.toString(16).padStart(8, '0').repeat(8);
  const record: KeyRecord = {
    account: name,
    key,
    member,
    kind: 'api',
    digest,
    state: 'active',
    expiresAt: null,
    capNanoUsd: null,
    ...NO_KEY_TERMS,
    version: 1,
    ...options.key,
  };
  const state: AccountState = {
    state: 'active',
    version: 1,
    keys: new Map([[key, record]]),
    members: new Map([[member, { account: name, member, capNanoUsd: options.memberCap ?? null, version: 1 }]]),
    terms: { value: { ...NO_PLAN, ...options.terms }, version: 1 },
    rows: new Map(),
    records: new Set(),
    ledgerEpoch: testEpoch(1),
  };
  if (options.wallet !== undefined && options.wallet !== null)
    state.rows.set('wallet', { value: options.wallet, version: 1 });
  world.owners.accounts.set(name, state);
  world.owners.digests.set(record.digest, { account: name, key });
  return {
    account: name,
    key,
    digest,
    member,
    state,
    keyRecord: () => state.keys.get(key) ?? record,
    changeKey(change) {
      const changed = {
        ...(state.keys.get(key) ?? record),
        ...change,
        version: (state.keys.get(key) ?? record).version + 1,
      };
      state.keys.set(key, changed);
      return changed;
    },
  };
}

export function admitEntry(
  clock: RedisClock,
  digests: readonly string[],
  change: Partial<AdmitEntry> = {},
): AdmitEntry {
  return {
    id: makeUuidV7(clock.now()),
    digests: [...digests],
    endpoint: '/v1/chat/completions',
    model: 'acme/fixed',
    bounds: { promptBytes: 30, arrayElements: 0, attachments: 0, outputTokensMax: 10 },
    bodyRefusal: null,
    opened: false,
    traceparent: undefined,
    ...change,
  };
}

/** Sends one batch and returns all answers by ID, and the released IDs. */
export async function batch(
  replica: Pick<Replica, 'admission'>,
  body: {
    opens?: { id: string; digests: string[] }[];
    admits?: AdmitEntry[];
    releases?: ReleaseEntry[];
    edge?: string;
  },
): Promise<{ answers: Map<string, BatchAnswer>; released: string[]; replies: number }> {
  const answers = new Map<string, BatchAnswer>();
  const released: string[] = [];
  let replies = 0;
  await replica.admission.batch(
    {
      edge: body.edge ?? 'edge1',
      opens: (body.opens ?? []).map((open) => ({ ...open, traceparent: undefined })),
      admits: body.admits ?? [],
      releases: body.releases ?? [],
    },
    (reply) => {
      replies += 1;
      for (const answer of reply.answers) answers.set(answer.id, answer as BatchAnswer);
      released.push(...reply.released);
    },
  );
  return { answers, released, replies };
}

export async function admit(replica: Pick<Replica, 'admission'>, entry: AdmitEntry): Promise<BatchAnswer> {
  const { answers } = await batch(replica, { admits: [entry] });
  const answer = answers.get(entry.id);
  if (answer === undefined) throw new Error('no answer');
  return answer;
}

export type Admitted = Extract<BatchAnswer, { kind: 'admitted' }> & { hold: HoldFields };

/** Sends an entry until it is decided, like an edge. Repeating an ID decides it only once. */
export function decide(
  replica: Pick<Replica, 'admission'>,
  entry: AdmitEntry,
): Promise<Exclude<BatchAnswer, { kind: 'fault' }>> {
  return until('a call is decided', async () => {
    const answer = await admit(replica, entry);
    return answer.kind === 'fault' ? null : answer;
  });
}

export async function mustAdmit(replica: Pick<Replica, 'admission'>, entry: AdmitEntry): Promise<Admitted> {
  const answer = await decide(replica, entry);
  if (answer.kind !== 'admitted' || answer.hold === null) throw new Error(`not admitted: ${JSON.stringify(answer)}`);
  return answer as Admitted;
}

export function release(admitted: Admitted, outcome: 'ok' | 'void', amountNanoUsd = 0): ReleaseEntry {
  return { blind: false, id: admitted.id, hold: admitted.hold, callEpoch: admitted.epoch, outcome, amountNanoUsd };
}

/** A call as it appears in a heartbeat of its edge. */
export function running({ id, hold, epoch }: Admitted, change: Partial<HeartbeatCall> = {}): HeartbeatCall {
  return { id, hold, callEpoch: epoch, endpoint: '/v1/chat/completions', ...change };
}

/** Number of stored heartbeats per world. */
const keptOf = new WeakMap<World, number>();

/** Stores a heartbeat with one part, like the stream. */
export function heartbeatOf(
  world: World,
  edge: string,
  n: number,
  change: Partial<Heartbeat> = {},
  storedAtMs = Date.now(),
): Heartbeat {
  const heartbeat: Heartbeat = {
    edge,
    n,
    chunk: 0,
    chunks: 1,
    epochs: [],
    calls: [],
    releases: [],
    last: false,
    ...change,
  };
  const sequence = (keptOf.get(world) ?? 0) + 1;
  keptOf.set(world, sequence);
  world.kept.set(`${edge}.${'names' in heartbeat ? 'short' : 'full'}.${heartbeat.chunk}`, {
    heartbeat,
    storedAtMs,
    sequence,
  });
  return heartbeat;
}

export function testCatalog(): CatalogView {
  return buildCatalogView(
    [
      model('acme/fixed', {}),
      model('acme/inactive', { active: false }),
      model('acme/switched-off', { available: false }),
      model('acme/unpriced', { prices: [] }),
      model('acme/no-source', {}),
      model('acme/disabled', {}),
      model('acme/tokens', {
        prices: [
          {
            version: 'pt',
            effectiveFrom: 0,
            figures: figures({ inputPerMillion: 3_000_000, outputPerMillion: 9_000_000 }),
          },
        ],
      }),
    ],
    ['fixed', 'inactive', 'switched-off', 'unpriced', 'tokens']
      .map((name) => source(`acme/${name}`, { enabled: true }))
      .concat(source('acme/disabled', { enabled: false })),
  );
}

export function model(id: string, change: Partial<CatalogModel>): CatalogModel {
  return {
    v: 1,
    id,
    displayName: id,
    active: true,
    available: true,
    kind: 'chat',
    contextLength: null,
    maxOutputTokens: null,
    bytesPerToken: 3,
    createdAt: 0,
    prices: [{ version: 'p1', effectiveFrom: 0, figures: figures({ perCall: PRICE }) }],
    ...change,
  };
}

export function figures(change: Partial<NonNullable<CatalogModel['prices'][number]['figures']>>) {
  return {
    inputPerMillion: 0,
    cachedInputPerMillion: null,
    cacheWritePerMillion: null,
    cacheWrite1hPerMillion: null,
    outputPerMillion: 0,
    perCall: 0,
    tiers: [],
    ...change,
  };
}

export function source(modelId: string, change: Partial<CatalogSource>): CatalogSource {
  const endpoints: Endpoint[] = ['/v1/chat/completions', '/v1/messages', '/v1/messages/count_tokens'];
  return {
    v: 1,
    id: `src-${modelId.replace('/', '-')}`,
    model: modelId,
    provider: 'prov',
    baseUrl: 'http://127.0.0.1:1',
    upstreamModel: 'm',
    endpoints,
    paths: {},
    auth: { type: 'bearer' },
    sealedCredential: null,
    headers: {},
    betas: 'pass',
    priority: 1,
    weight: 1,
    enabled: true,
    streamUsage: true,
    cancelStopsBilling: false,
    limits: { headersTimeoutMs: null, firstEventTimeoutMs: null, silenceTimeoutMs: null },
    costs: [],
    ...change,
  };
}
