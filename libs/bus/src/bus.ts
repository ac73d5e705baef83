import type {
  AnswerBodyOf,
  AnswerOf,
  AnyMessage,
  BodyOf,
  ReceivedOf,
  ServiceName,
  StreamName,
} from '@gateway/contracts/messages';
import type { BusFault } from './bus-fault.js';

export type AnyRequest = Extract<AnyMessage, { kind: 'request' }>;
export type AnyPublished = Extract<AnyMessage, { kind: 'published' }>;
export type AnyStored = Extract<AnyMessage, { kind: 'stored' }>;
/** Values of the `{word}`s in a message's subject: plain subject tokens. */
export type Words = Readonly<Record<string, string | number>>;

export interface BusLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

export interface BusOptions {
  /** `nats://user:password@host:port[,host:port…]`; `tls://` asks for TLS. */
  url: string;
  /** Name of the bus user; the reply inboxes lie under `_INBOX_<service>`. */
  service: ServiceName;
  /** Unique per process, a plain subject token. */
  replica: string;
  log: BusLog;
  /** How long the first connection is tried; 30,000 unless stated. */
  waitForFirstConnectMs?: number;
  /** Copies that a KV bucket made by this process has; 1 unless stated, 3 in a cluster. */
  bucketReplicas?: number;
}

export interface RequestOptions {
  /** Only this replica of the serving service is asked (messages with `perReplica`). */
  replica?: string;
  /** Instead of the message's own time-out. */
  timeoutMs?: number;
}

export interface ServeOptions {
  /** Handlers running at once; a request above is answered `overloaded`. 256 unless stated. */
  concurrencyMax?: number;
}

export interface SubscribeOptions {
  /** Fixes words of the subject; words not named match every token. */
  words?: Readonly<Record<string, string>>;
  /** Stored messages only: one replica of the service gets each message. */
  queue?: boolean;
  /**
   * Handlers running at once; a message above is dropped, counted and logged. 4,096 unless stated.
   */
  concurrencyMax?: number;
}

export interface StoredDelivery {
  data: Uint8Array;
  subject: string;
  /** Position in the stream. */
  sequence: number;
  storedAtMs: number;
  /** 1 at the first delivery. */
  deliveryCount: number;
  ack(): void;
  /** Negative acknowledgement: delivered again after this many milliseconds. */
  retryAfter(ms: number): void;
}

/** A message as the stream has it, read by its position. */
export type StoredMessage = Pick<StoredDelivery, 'data' | 'subject' | 'sequence' | 'storedAtMs'>;

export interface ConsumeOptions {
  stream: StreamName;
  durable: string;
  filterSubject: string;
  /** Deliveries handed to the handler at once; as many again may be read ahead. */
  batchMax: number;
  /** Unacknowledged deliveries of all replicas together. */
  maxAckPending: number;
  /**
   * So long after a consumer was killed, its messages are delivered again; while it lives, the time
   * is extended.
   */
  ackWaitMs: number;
  /**
   * So long after a batch that was not full nothing is asked for; then everything that came
   * meanwhile is: fewer wake-ups, larger batches. Default 0.
   */
  collectMs?: number;
  /**
   * With so many bytes a batch is full, as with `batchMax` deliveries. No default.
   */
  collectBytes?: number;
  /**
   * Called with one batch at a time. When it throws, what it has not acknowledged is delivered
   * again.
   */
  handler: (batch: StoredDelivery[]) => Promise<void>;
}

export interface StreamSettings {
  stream: StreamName;
  /** Subject patterns that the stream stores. */
  subjects: readonly string[];
  /** A full stream refuses new messages, or drops its oldest. */
  discard: 'new' | 'old';
  bytesMax: number;
  ageMaxMs: number;
  /** Stated: only so many messages per subject are kept. */
  messagesPerSubjectMax?: number;
  /** Within this time a message id is stored once. */
  duplicateWindowMs: number;
  /** 1, or 3 in a cluster. */
  replicas: number;
}

export interface StreamState {
  messages: number;
  bytes: number;
  firstSequence: number;
  lastSequence: number;
  /** Epoch milliseconds of the oldest and the newest message, null without one. */
  firstAt: number | null;
  lastAt: number | null;
}

/** The entry of a bucket that is written last: what a complete bucket contains. */
export interface BucketHead {
  revision: number;
  count: number;
  /** SHA-256 over the sorted entries, hexadecimal. */
  hash: string;
}

export type BucketSwap = (
  entries: ReadonlyMap<string, string>,
  head: BucketHead,
  /** Keys that were added, changed or removed since the last swap. */
  changed: readonly string[],
) => void;

export interface BucketMirror {
  /** True after the first complete copy; never false again. */
  ready(): boolean;
  /** Revision of the copy that is shown, 0 before the first. */
  revision(): number;
  /**
   * How long ago (epoch milliseconds `now`) the copy was last known to equal the bucket; Infinity
   * before the first.
   */
  ageMs(now: number): number;
  stop(): Promise<void>;
}

/** How much a bucket of single entries keeps. */
export interface LookUpSettings {
  readonly name: string;
  readonly ageMaxMs: number;
  /** A bucket with so many bytes drops its oldest entries. */
  readonly bytesMax: number;
  /**
   * A bucket with so many entries rejects new ones with `stream_full`; absent: no bound. Choose
   * `bytesMax` so that it is not reached before: nats-server compares it without the overhead of an
   * entry, and drops the oldest entry instead of rejecting a small one.
   */
  readonly entriesMax?: number;
}

/** An entry with the number of the write that made it. */
export interface BucketEntry {
  readonly value: string;
  readonly revision: number;
}

/**
 * A bucket whose entries are written and read one by one. It is made at the first use, which may
 * take longer than the time-outs. All reject with a {@link BusFault}.
 */
export interface LookUpBucket {
  /** Resolves when it is stored, in place of what the key had. */
  put(key: string, value: string, timeoutMs: number): Promise<void>;
  /** Null: there is none, or not yet at the server that answers. */
  get(key: string, timeoutMs: number): Promise<string | null>;
  /**
   * Reads from the leader of the bucket, which has every write that was acknowledged. Fails while
   * there is no leader, where {@link get} still works.
   */
  getFromLeader(key: string, timeoutMs: number): Promise<string | null>;
  /** Entries stored, of `entriesMax`. */
  entries(timeoutMs: number): Promise<number>;
  read(key: string, timeoutMs: number): Promise<BucketEntry | null>;
  /**
   * Resolves when it is stored in place of the entry of that revision; 0: of none. Rejects with
   * `conflict` where another one is there. After `timeout` or `disconnected` it may still come to
   * be stored, as long as nobody else replaces that entry.
   */
  replace(key: string, value: string, revision: number, timeoutMs: number): Promise<void>;
}

export interface Bus {
  readonly service: ServiceName;
  readonly replica: string;
  /** False while disconnected: a request then fails at once with `disconnected`. */
  connected(): boolean;
  /** Both return the function that ends the listening. */
  onReconnect(listener: () => void): () => void;
  onDisconnect(listener: () => void): () => void;
  /** Asks for one answer. Rejects with a {@link BusFault}. */
  request<M extends AnyRequest>(message: M, body: BodyOf<M>, options?: RequestOptions): Promise<AnswerOf<M>>;
  /**
   * Asks for as many answers as come until `close()` or the time-out, which is a fault too; after a
   * fault nothing more comes. Neither this call nor `close()` throws, and no callback runs inside
   * this call.
   */
  requestMany<M extends AnyRequest>(
    message: M,
    body: BodyOf<M>,
    on: { answer(answer: AnswerOf<M>): void; fault(fault: BusFault): void },
    options?: RequestOptions,
  ): { close(): void };
  /**
   * Sends without an answer. False: not sent, because the bus is disconnected. Throws on a body
   * over the size limit.
   */
  publish<M extends AnyPublished>(message: M, words: Words, body: BodyOf<M>): boolean;
  /**
   * The bytes of a body, to be sent many times unchanged. Throws `too_large` above 1,000,000 bytes.
   */
  encode<M extends AnyMessage>(message: M, body: BodyOf<M>): Uint8Array;
  /**
   * Resolves when the stream has stored the message. A repeated `messageId` within the stream's
   * duplicate window is stored once and answered `duplicate`. Rejects with a {@link BusFault}:
   * `stream_full`, `timeout`, `disconnected`…
   */
  store<M extends AnyStored>(
    message: M,
    words: Words,
    body: BodyOf<M> | Uint8Array,
    options?: { timeoutMs?: number; messageId?: string },
  ): Promise<{ sequence: number; duplicate: boolean }>;
  /**
   * Answers a request. A BusFault thrown by the handler reaches the asker, anything else is told as
   * `fault`.
   */
  serve<M extends AnyRequest>(
    message: M,
    handler: (body: ReceivedOf<M>) => Promise<AnswerBodyOf<M>>,
    options?: ServeOptions,
  ): void;
  /**
   * Answers a request as often as needed; `reply` may also be called after the handler has
   * returned.
   */
  serveMany<M extends AnyRequest>(
    message: M,
    handler: (body: ReceivedOf<M>, reply: (answer: AnswerBodyOf<M>) => void) => Promise<void> | void,
    options?: ServeOptions,
  ): void;
  /**
   * Receives published messages, or stored ones as they pass. Invalid messages are counted, logged
   * and left out.
   */
  subscribe<M extends AnyPublished | AnyStored>(
    message: M,
    handler: (body: ReceivedOf<M>) => void | Promise<void>,
    options?: SubscribeOptions,
  ): void;
  /** Makes the stream, or changes it to these settings. Only its owner may. */
  ensureStream(settings: StreamSettings): Promise<void>;
  streamState(stream: StreamName): Promise<StreamState>;
  /** Removes all messages, or those of the subjects, up to and including this position. */
  purgeStream(stream: StreamName, upToSequence: number, filterSubject?: string): Promise<void>;
  /**
   * Up to which position every message of a durable consumer is acknowledged; 0: there is no such
   * consumer, or it has acknowledged nothing.
   */
  ackFloor(stream: StreamName, durable: string): Promise<number>;
  /**
   * The message at a position, or the first of a subject from there on; null: there is none. Only
   * the owner of the stream may.
   */
  storedMessage(stream: StreamName, sequence: number, ofSubject?: string): Promise<StoredMessage | null>;
  /** A durable pull consumer; waits for the stream, survives reconnects and server restarts. */
  consume(options: ConsumeOptions): { stop(): Promise<void> };
  decode<M extends AnyMessage>(
    message: M,
    bytes: Uint8Array,
  ): { ok: true; body: ReceivedOf<M> } | { ok: false; problem: string };
  /**
   * The last message of each subject; `ack` and `retryAfter` of the result do nothing. With
   * `headersOnly` the server leaves their bodies out.
   */
  lastPerSubject(
    stream: StreamName,
    filterSubject: string,
    options?: { readonly headersOnly?: boolean },
  ): Promise<StoredDelivery[]>;
  /**
   * Writes what differs, removes what is gone, and the head last. Makes the bucket if it is
   * missing.
   */
  publishBucket(bucket: string, entries: ReadonlyMap<string, string>, revision: number): Promise<void>;
  /** Null: the bucket or its head is missing. */
  bucketHead(bucket: string): Promise<BucketHead | null>;
  mirrorBucket(bucket: string, onSwap: BucketSwap): BucketMirror;
  lookUpBucket(settings: LookUpSettings): LookUpBucket;
  /**
   * Resolves when the server knows every subscription made before: who is asked to serve now,
   * serves. At once while disconnected: subscriptions are made again with the connection.
   */
  listening(): Promise<void>;
  /**
   * Stops receiving, awaits running handlers (at most `timeoutMs`), sends what is unsent, closes.
   */
  drain(timeoutMs: number): Promise<void>;
}
