import type {
  AnswerBodyOf,
  AnswerOf,
  AnyMessage,
  BodyOf,
  ReceivedOf,
  ServiceName,
  StreamName,
} from '@gateway/contracts/messages';
import type { TimerClock } from '@gateway/service-kit';
import type { BusFault } from './bus-fault.js';

export type AnyRequest = Extract<AnyMessage, { kind: 'request' }>;
export type AnyPublished = Extract<AnyMessage, { kind: 'published' }>;
export type AnyStored = Extract<AnyMessage, { kind: 'stored' }>;
/** Values of the `{word}`s in a message's subject. Each is a plain subject token. */
export type Words = Readonly<Record<string, string | number>>;

export interface BusLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

export interface BusOptions {
  /**
   * `nats://user:password@host:port[,host:port…]`, or with a credentials file
   * `nats://host:port[,host:port…]?credentials=FILE`. `tls://` enables TLS.
   */
  url: string;
  /** Name of the bus user. The reply inboxes begin with `_INBOX_<service>`. */
  service: ServiceName;
  /** Unique per process, a plain subject token. */
  replica: string;
  log: BusLog;
  /** Timeout of the first connection. Default: 30,000. */
  waitForFirstConnectMs?: number;
  /** Replicas of a KV bucket that this process creates. Default: 1. Use 3 in a cluster. */
  bucketReplicas?: number;
  /** Default: the system's clock. */
  clock?: TimerClock;
}

export interface RequestOptions {
  /** Sends the request only to this replica of the service (messages with `perReplica`). */
  replica?: string;
  /** Overrides the timeout of the message. */
  timeoutMs?: number;
}

export interface ServeOptions {
  /** Handlers that run at once. A request above this gets the reply `overloaded`. Default: 256. */
  concurrencyMax?: number;
}

export interface SubscribeOptions {
  /** Fixes words of the subject. Words that are not named match every token. */
  words?: Readonly<Record<string, string>>;
  /** For stored messages only: one replica of the service receives each message. */
  queue?: boolean;
  /**
   * Handlers that run at once; further messages are dropped, counted and logged. Default: 4,096.
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
  /** Negative acknowledgement: the server redelivers the message after this many milliseconds. */
  retryAfter(ms: number): void;
}

/** A message as the stream stores it, read by its position. */
export type StoredMessage = Pick<StoredDelivery, 'data' | 'subject' | 'sequence' | 'storedAtMs'>;

export interface ConsumeOptions {
  stream: StreamName;
  durable: string;
  filterSubject: string;
  /** Deliveries per call of the handler. The same number may be read ahead. */
  batchMax: number;
  /** Unacknowledged deliveries of all replicas together. */
  maxAckPending: number;
  /**
   * After a consumer was killed, the server delivers its messages again after this time. A running
   * consumer extends the time.
   */
  ackWaitMs: number;
  /**
   * Wait after a batch that was not full, before the next request to the server. The next request
   * then fetches everything that has arrived: fewer wake-ups, larger batches. Default: 0.
   */
  collectMs?: number;
  /** A batch with this many bytes is full, like a batch with `batchMax` deliveries. No default. */
  collectBytes?: number;
  /**
   * Called with one batch at a time. If it throws, the server delivers the unacknowledged messages
   * of the batch again.
   */
  handler: (batch: StoredDelivery[]) => Promise<void>;
}

export interface StreamSettings {
  stream: StreamName;
  /** Subject patterns that the stream stores. */
  subjects: readonly string[];
  /** A full stream refuses new messages (`new`) or drops its oldest (`old`). */
  discard: 'new' | 'old';
  bytesMax: number;
  ageMaxMs: number;
  /** Messages kept per subject. Absent: no limit. */
  messagesPerSubjectMax?: number;
  /** A message ID is stored once within this time. */
  duplicateWindowMs: number;
  /** 1, or 3 in a cluster. */
  replicas: number;
}

export interface StreamState {
  messages: number;
  bytes: number;
  firstSequence: number;
  lastSequence: number;
  /** Epoch milliseconds of the oldest and the newest message, null in an empty stream. */
  firstAt: number | null;
  lastAt: number | null;
}

/** The entry of a bucket that is written last. It describes the complete content. */
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
  /** True after the first complete copy, and from then on. */
  ready(): boolean;
  /** Revision of the copy in use, 0 before the first copy. */
  revision(): number;
  /**
   * Time since the copy was last known to equal the bucket, in milliseconds before `now` (epoch
   * milliseconds). Infinity before the first copy.
   */
  ageMs(now: number): number;
  stop(): Promise<void>;
}

/** The limits of a bucket with single entries. */
export interface LookUpSettings {
  readonly name: string;
  readonly ageMaxMs: number;
  /** A bucket with this many bytes drops its oldest entries. */
  readonly bytesMax: number;
  /**
   * A bucket with this many entries rejects new ones with `stream_full`. Absent: no limit. Choose a
   * `bytesMax` that is not reached first: nats-server compares it without the overhead of an entry
   * and drops the oldest entry instead of rejecting a small one.
   */
  readonly entriesMax?: number;
}

/** An entry with the revision of the write that stored it. */
export interface BucketEntry {
  readonly value: string;
  readonly revision: number;
}

/**
 * A bucket whose entries are written and read one by one. The first use creates the bucket, which
 * may take longer than the timeout. All methods reject with a {@link BusFault}.
 */
export interface LookUpBucket {
  /** Stores the value and replaces an earlier one of the key. */
  put(key: string, value: string, timeoutMs: number): Promise<void>;
  /** Null: the entry does not exist, or the responding server does not have it yet. */
  get(key: string, timeoutMs: number): Promise<string | null>;
  /**
   * Reads from the bucket's leader, which has every acknowledged write. Fails without a leader;
   * {@link get} works then too.
   */
  getFromLeader(key: string, timeoutMs: number): Promise<string | null>;
  /** Number of stored entries, to compare with `entriesMax`. */
  entries(timeoutMs: number): Promise<number>;
  read(key: string, timeoutMs: number): Promise<BucketEntry | null>;
  /**
   * Replaces the entry if it has this revision; revision 0 creates the entry if it does not exist.
   * Rejects with `conflict` if another entry is stored. After `timeout` or `disconnected` the value
   * may still be stored later, unless another writer replaces the entry.
   */
  replace(key: string, value: string, revision: number, timeoutMs: number): Promise<void>;
}

export interface Bus {
  readonly service: ServiceName;
  readonly replica: string;
  /** False while disconnected. A request then fails at once with `disconnected`. */
  connected(): boolean;
  /** Both return a function that removes the listener. */
  onReconnect(listener: () => void): () => void;
  onDisconnect(listener: () => void): () => void;
  /** Sends a request and returns its reply. Rejects with a {@link BusFault}. */
  request<M extends AnyRequest>(message: M, body: BodyOf<M>, options?: RequestOptions): Promise<AnswerOf<M>>;
  /**
   * Sends a request and delivers all replies until `close()`, a fault or the timeout, which is a
   * fault too. Neither this method nor `close()` throws, and no callback runs inside this method.
   */
  requestMany<M extends AnyRequest>(
    message: M,
    body: BodyOf<M>,
    on: { answer(answer: AnswerOf<M>): void; fault(fault: BusFault): void },
    options?: RequestOptions,
  ): { close(): void };
  /**
   * Sends a message without a reply. Returns false if the bus is disconnected; the message is then
   * not sent. Throws on a body above the size limit.
   */
  publish<M extends AnyPublished>(message: M, words: Words, body: BodyOf<M>): boolean;
  /**
   * Returns the bytes of a body, for sending it several times. Throws `too_large` above 1,000,000
   * bytes.
   */
  encode<M extends AnyMessage>(message: M, body: BodyOf<M>): Uint8Array;
  /**
   * Resolves after the stream has stored the message. A repeated `messageId` within the stream's
   * duplicate window is stored once and returns `duplicate`. Rejects with a {@link BusFault}:
   * `stream_full`, `timeout`, `disconnected`…
   */
  store<M extends AnyStored>(
    message: M,
    words: Words,
    body: BodyOf<M> | Uint8Array,
    options?: { timeoutMs?: number; messageId?: string },
  ): Promise<{ sequence: number; duplicate: boolean }>;
  /**
   * Serves a request. The requester receives a BusFault of the handler as it is, and any other
   * exception as `fault`.
   */
  serve<M extends AnyRequest>(
    message: M,
    handler: (body: ReceivedOf<M>) => Promise<AnswerBodyOf<M>>,
    options?: ServeOptions,
  ): void;
  /** Serves a request with any number of replies, also after the handler has returned. */
  serveMany<M extends AnyRequest>(
    message: M,
    handler: (body: ReceivedOf<M>, reply: (answer: AnswerBodyOf<M>) => void) => Promise<void> | void,
    options?: ServeOptions,
  ): void;
  /**
   * Receives published messages, or stored messages at the time of their publication. Counts, logs
   * and drops invalid messages.
   */
  subscribe<M extends AnyPublished | AnyStored>(
    message: M,
    handler: (body: ReceivedOf<M>) => void | Promise<void>,
    options?: SubscribeOptions,
  ): void;
  /** Creates the stream or updates its settings. Permitted only to the owner of the stream. */
  ensureStream(settings: StreamSettings): Promise<void>;
  streamState(stream: StreamName): Promise<StreamState>;
  /** Removes all messages, or those of the subjects, up to and including this position. */
  purgeStream(stream: StreamName, upToSequence: number, filterSubject?: string): Promise<void>;
  /**
   * Returns the position up to which a durable consumer has acknowledged every message. 0: the
   * consumer does not exist or has acknowledged nothing.
   */
  ackFloor(stream: StreamName, durable: string): Promise<number>;
  /**
   * Returns the message at a position, or the first message of a subject from there on; null if
   * none exists. Permitted only to the owner of the stream.
   */
  storedMessage(stream: StreamName, sequence: number, ofSubject?: string): Promise<StoredMessage | null>;
  /**
   * Starts a durable pull consumer. It waits for the stream and continues after reconnects and
   * server restarts.
   */
  consume(options: ConsumeOptions): { stop(): Promise<void> };
  decode<M extends AnyMessage>(
    message: M,
    bytes: Uint8Array,
  ): { ok: true; body: ReceivedOf<M> } | { ok: false; problem: string };
  /**
   * Returns the last message of each subject. `ack` and `retryAfter` of the results do nothing.
   * With `headersOnly` the server leaves the bodies out.
   */
  lastPerSubject(
    stream: StreamName,
    filterSubject: string,
    options?: { readonly headersOnly?: boolean },
  ): Promise<StoredDelivery[]>;
  /**
   * Makes the bucket's entries equal to these and writes the head last. Creates a missing bucket.
   * Rejects with `conflict` if the head is newer or another process wrote it meanwhile.
   */
  publishBucket(bucket: string, entries: ReadonlyMap<string, string>, revision: number): Promise<void>;
  /** Null: the bucket or its head does not exist. */
  bucketHead(bucket: string): Promise<BucketHead | null>;
  mirrorBucket(bucket: string, onSwap: BucketSwap): BucketMirror;
  lookUpBucket(settings: LookUpSettings): LookUpBucket;
  /**
   * Resolves when the server knows every subscription made before, so that a request from now on
   * reaches a handler. Resolves at once while disconnected, because the connection restores
   * subscriptions.
   */
  listening(): Promise<void>;
  /** Stops receiving, waits for running handlers (at most `timeoutMs`), flushes and closes. */
  drain(timeoutMs: number): Promise<void>;
}
