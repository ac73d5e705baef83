import type {
  AccountRecord,
  AdmissionFaultCode,
  AnswerBodyOf,
  AnswerOf,
  BodyOf,
  KeyRecord,
  MemberRecord,
  ReceivedOf,
  RedisRun,
  UsageEvent,
  accountsUnchanged,
  billingLoad,
  billingUnchanged,
  edgeHeartbeat,
  edgeHeartbeatReply,
  edgeShortHeartbeat,
} from '@gateway/contracts/messages';
import type { TimerClock } from '@gateway/service-kit';
import type { CatalogView } from './admit/catalog-view-rules.js';
import type { ReplicaRun } from './limit-store/epoch-rules.js';
import type { HeartbeatPosition, StoredHeartbeat } from './heartbeats/last-heartbeats-rules.js';
import type { ScriptCall, ScriptReply } from './limit-store/script-rules.js';

/** The reason why a call could not be decided. The edge receives it as a fault, not a refusal. */
export class AdmissionFault extends Error {
  override readonly name = 'AdmissionFault';
  /** A decision was started and its reply never arrived, so the call may have a hold. */
  readonly mayHold: boolean;

  constructor(
    readonly code: AdmissionFaultCode,
    message: string,
    options: { readonly cause?: unknown; readonly mayHold?: boolean } = {},
  ) {
    super(message, options);
    this.mayHold = options.mayHold ?? false;
  }
}

/**
 * The part of Redis that decides. Every method rejects with an AdmissionFault until a connection
 * has completed its handshake.
 */
export interface LimitStore {
  usable(): boolean;
  /**
   * Runs one pipeline. Each script fails alone. Reports the Redis time of its replies to the clock.
   */
  run(calls: readonly ScriptCall[]): Promise<readonly (ScriptReply | AdmissionFault)[]>;
  /** Returns the key references of the digests, in the same order. */
  routes(digests: readonly string[]): Promise<readonly (string | null)[]>;
  setRoute(digest: string, keyReference: string): Promise<void>;
  /**
   * Remembers for some seconds, for all replicas, that the digests belong to no key. An existing
   * key reference stays.
   */
  setMisses(digests: readonly string[]): Promise<void>;
  dropRoute(digest: string): Promise<void>;
  /** Creates a new epoch for a bucket of this server run. */
  newEpoch(): string;
  /**
   * One step over the accounts of all buckets, loaded or not. It scans about a thousand keys. An
   * account may occur twice.
   * @param cursor `0` at first, then the cursor from the previous step; `0` is returned at the end
   */
  accounts(cursor: string): Promise<AccountsStep>;
  /**
   * Receives epochs that edges or other replicas quote, and the latest run that an edge knows. If a
   * run is later than this server's, the server becomes unusable and the client reconnects.
   */
  observe(epochs: readonly string[], run?: RedisRun): void;
  /** Receives the report of another replica about the run that it uses or is connected to. */
  observeRun(run: ReplicaRun): void;
  /** All fields of an account and of its holds, for operations and tests. */
  dump(accountKey: string, holdsKey: string): Promise<[Record<string, string>, Record<string, string>]>;
}

export interface AccountsStep {
  readonly cursor: string;
  readonly accounts: readonly string[];
}

/** This process's estimate of Redis time, in milliseconds, with the test clock's offset. */
export interface StoreClock {
  now(): number;
  /** Monotonic milliseconds in this process, for deadlines. */
  monotonic(): number;
  /** Wall-clock milliseconds in this process, for comparison with other servers' clocks. */
  wall(): number;
  /** The timers of this process, and its timeouts for other processes. */
  readonly timers: TimerClock;
}

/** Requests to accounts and billing. Rejects when they cannot respond. */
export interface Owners {
  find(digests: readonly string[]): Promise<{ account: string; key: string; digest: string } | null>;
  loadAccount(
    account: string,
    key: string | null,
  ): Promise<{ account: AccountRecord | null; key: KeyRecord | null; member: MemberRecord | null }>;
  loadBalances(question: {
    account: string;
    names: readonly string[];
    ids: readonly string[];
    afterLoss: boolean;
  }): Promise<BalanceLoad>;
  /** At most 1,000 accounts per request, also for the next method. */
  unchangedBalances(accounts: BodyOf<typeof billingUnchanged>['accounts']): Promise<AnswerOf<typeof billingUnchanged>>;
  unchangedRecords(accounts: BodyOf<typeof accountsUnchanged>['accounts']): Promise<AnswerOf<typeof accountsUnchanged>>;
}

/** Billing's answer to a load. `version`: the account's version in the snapshot, if included. */
export type BalanceLoad = AnswerBodyOf<typeof billingLoad>;

/** A full or a short heartbeat. */
export type Heartbeat = ReceivedOf<typeof edgeHeartbeat> | ReceivedOf<typeof edgeShortHeartbeat>;

/** The last heartbeats in the stream, and messages to edges. */
export interface Edges {
  /** Whether heartbeats reach this process now, which means that the bus is available. */
  listens(): boolean;
  /** @param edge limits the result to this edge */
  lastHeartbeats(edge?: string): Promise<readonly StoredHeartbeat[]>;
  /** Lists the heartbeat messages in the stream, without their content. */
  heartbeatMarks(): Promise<readonly HeartbeatPosition[]>;
  /** Deletes an edge's messages from the stream, up to and including that position. */
  forget(edge: string, upToSequence: number): Promise<void>;
  heartbeatReply(edge: string, heartbeatReply: BodyOf<typeof edgeHeartbeatReply>): void;
  report(epochs: readonly { bucket: number; epoch: string }[]): void;
}

export interface Journal {
  /** Resolves when the stream has stored the events, on the subject of this group of shards. */
  store(group: number, events: readonly UsageEvent[]): Promise<void>;
}

/** Receivers of one-way notifications. */
export interface UsageReporter {
  /** Reports the last use of keys, in Redis time. Returns false if it is not sent (no bus). */
  keysUsed(uses: readonly { key: string; at: number }[]): boolean;
  /**
   * Reports the calls that were refused in the minute that starts at this Redis time. Returns false
   * if the bus is away and nothing was sent.
   */
  callsRefused(minute: number, rows: readonly RefusalCount[]): boolean;
}

/** Refused calls of one account, key and code in one minute. The newest of `lastIds` is last. */
export interface RefusalCount {
  readonly account: string;
  readonly key: string;
  readonly code: string;
  readonly count: number;
  readonly lastIds: string[];
}

/** The catalog mirror; null before the first complete copy. */
export interface Catalog {
  view(): CatalogView | null;
}

/**
 * Conditions that stop all admissions although the limit store is usable (docs/protocol.md#r14 and
 * docs/protocol.md#r15).
 */
export interface BackPressure {
  /** Returns why nothing is admitted, or null. */
  engaged(): string | null;
}

export interface Log {
  debug(facts: object, text: string): void;
  info(facts: object, text: string): void;
  warn(facts: object, text: string): void;
  error(facts: object, text: string): void;
}

/** Durations of the deployment in milliseconds. */
export interface Durations {
  readonly leaseMs: number;
  readonly expiryMs: number;
  readonly sweepMs: number;
  /**
   * Maximum time for the decision on a batch entry; default 1.8 s, as the edge gives up after 2 s.
   */
  readonly decideMs?: number;
}

export interface Ports {
  readonly limitStore: LimitStore;
  readonly clock: StoreClock;
  readonly owners: Owners;
  readonly edges: Edges;
  readonly journal: Journal;
  readonly listeners: UsageReporter;
  readonly catalog: Catalog;
  readonly backPressure: BackPressure;
  readonly log: Log;
  readonly durations: Durations;
  readonly replica: string;
}

/** Runs one call and returns its reply. @throws AdmissionFault when it could not run */
export async function runScript(limitStore: Pick<LimitStore, 'run'>, call: ScriptCall): Promise<ScriptReply> {
  const [reply] = await limitStore.run([call]);
  if (reply === undefined || reply instanceof AdmissionFault) throw reply ?? new Error('no reply');
  return reply;
}
