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
import type { CatalogView } from './admit/catalog-view-rules.js';
import type { RunOfRedis } from './limit-store/epoch-rules.js';
import type { HeartbeatMark, KeptHeartbeat } from './heartbeats/last-heartbeats-rules.js';
import type { ScriptCall, ScriptReply } from './limit-store/script-rules.js';

/** Why something could not be decided: told to the edge, never a refusal. */
export class AdmissionFault extends Error {
  override readonly name = 'AdmissionFault';
  /** A decision was begun and its reply never came: the call may hold something. */
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
 * Redis, as far as it decides. Everything rejects with an AdmissionFault while no connection has
 * shaken hands.
 */
export interface LimitStore {
  usable(): boolean;
  /** One pipeline; each script fails alone. Reports the Redis time of its replies to the clock. */
  run(calls: readonly ScriptCall[]): Promise<readonly (ScriptReply | AdmissionFault)[]>;
  /** What the digests lead to, in their order. */
  routes(digests: readonly string[]): Promise<readonly (string | null)[]>;
  setRoute(digest: string, keyReference: string): Promise<void>;
  /**
   * Remembers for some seconds, for all replicas, that the digests lead nowhere; a route that is
   * there stays.
   */
  setMisses(digests: readonly string[]): Promise<void>;
  dropRoute(digest: string): Promise<void>;
  /** A new token for a bucket of this server run. */
  newEpoch(): string;
  /**
   * One step over the accounts of all buckets, loaded or not: about a thousand keys are looked at.
   * An account may come twice.
   * @param cursor `0` at first, then that of the step before; one that answers `0` was the last
   */
  accounts(cursor: string): Promise<AccountsStep>;
  /**
   * Epochs that edges or other replicas quote, and the latest run that an edge knows. A later one
   * than this server's makes it unusable: it is looked for anew.
   */
  hear(epochs: readonly string[], run?: RedisRun): void;
  /** Another replica says which run it uses, or is led to. */
  hearRun(run: RunOfRedis): void;
  /** All fields of an account and of its holds, for operations and tests. */
  dump(accountKey: string, holdsKey: string): Promise<[Record<string, string>, Record<string, string>]>;
}

export interface AccountsStep {
  readonly cursor: string;
  readonly accounts: readonly string[];
}

/** Redis time as this process knows it, in milliseconds, with the test clock's offset. */
export interface StoreClock {
  now(): number;
  /** Monotonic milliseconds of this process, for deadlines. */
  monotonic(): number;
  /** Wall-clock milliseconds of this process, for comparison with other servers' clocks. */
  wall(): number;
}

/** What accounts and billing are asked. Rejects when they cannot answer. */
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
  }): Promise<LoadedBalances>;
  /** At most 1,000 accounts in a question; so too of the next. */
  unchangedBalances(accounts: BodyOf<typeof billingUnchanged>['accounts']): Promise<AnswerOf<typeof billingUnchanged>>;
  unchangedRecords(accounts: BodyOf<typeof accountsUnchanged>['accounts']): Promise<AnswerOf<typeof accountsUnchanged>>;
}

/** What billing answers a load. `version`: of the account in the snapshot, when it is told. */
export type LoadedBalances = AnswerBodyOf<typeof billingLoad>;

/** A full heartbeat, or a short one. */
export type Heartbeat = ReceivedOf<typeof edgeHeartbeat> | ReceivedOf<typeof edgeShortHeartbeat>;

/** The last heartbeats that the stream keeps, and what is said to edges. */
export interface Edges {
  /** Whether heartbeats reach this process now: the bus is there. */
  listens(): boolean;
  /** @param edge only of this one */
  lastHeartbeats(edge?: string): Promise<readonly KeptHeartbeat[]>;
  /** Which messages of heartbeats the stream keeps, without what they say. */
  heartbeatMarks(): Promise<readonly HeartbeatMark[]>;
  /** Deletes what the stream keeps of an edge, up to and including that position. */
  forget(edge: string, upToSequence: number): Promise<void>;
  heartbeatReply(edge: string, heartbeatReply: BodyOf<typeof edgeHeartbeatReply>): void;
  report(tokens: readonly { bucket: number; token: string }[]): void;
}

/** The stream of usage events. */
export interface Journal {
  /** Resolves when the stream has the events, on the subject of this group of shards. */
  store(group: number, events: readonly UsageEvent[]): Promise<void>;
}

/** Who is told something and answers nothing. */
export interface Listeners {
  /** When keys were last used, in Redis time. False: not sent, the bus is away. */
  keysUsed(uses: readonly { key: string; at: number }[]): boolean;
  /**
   * Calls that were refused in the minute that starts then, in Redis time. False: not sent, the bus
   * is away.
   */
  callsRefused(minute: number, rows: readonly RefusedRow[]): boolean;
}

/** Refused calls of one account, key and code in one minute; `lastIds` with the newest last. */
export interface RefusedRow {
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
 * Conditions under which no call is admitted although the limit store could (docs/protocol.md#r14
 * and docs/protocol.md#r15).
 */
export interface BackPressure {
  /** Why nothing is admitted, or null. */
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
   * How long an entry of a batch may wait for its decision; 1.8 s when absent: the edge has given
   * up then.
   */
  readonly decideMs?: number;
}

export interface Ports {
  readonly limitStore: LimitStore;
  readonly clock: StoreClock;
  readonly owners: Owners;
  readonly edges: Edges;
  readonly journal: Journal;
  readonly listeners: Listeners;
  readonly catalog: Catalog;
  readonly backPressure: BackPressure;
  readonly log: Log;
  readonly durations: Durations;
  readonly replica: string;
}

/** The reply of one call. @throws AdmissionFault when it could not run */
export async function runScript(limitStore: Pick<LimitStore, 'run'>, call: ScriptCall): Promise<ScriptReply> {
  const [reply] = await limitStore.run([call]);
  if (reply === undefined || reply instanceof AdmissionFault) throw reply ?? new Error('no reply');
  return reply;
}
