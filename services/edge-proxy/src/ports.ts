import type {
  AnswerOf,
  BodyOf,
  CatalogModel,
  CatalogSource,
  ReceivedOf,
  admissionAuthorize,
  admissionBatch,
  admissionUsage,
  edgeHeartbeat,
  edgeHealth,
  edgeHeartbeatReply,
  edgeResyncRequest,
  edgeShortHeartbeat,
} from '@gateway/contracts/messages';
import type { EndpointRow } from './formats/endpoints.js';
import type { JudgedAttempt } from './errors/judge-attempt.js';
import type { ParseResult, RequestContentHeaders } from './parse/parse-call.js';

export type AdmissionBatch = BodyOf<typeof admissionBatch>;
export type AdmissionBatchAnswer = AnswerOf<typeof admissionBatch>;
export type AuthorizeQuestion = BodyOf<typeof admissionAuthorize>;
export type AuthorizeAnswer = AnswerOf<typeof admissionAuthorize>;
export type UsageAnswer = AnswerOf<typeof admissionUsage>;
/** A full heartbeat, or a short one. */
export type Heartbeat = BodyOf<typeof edgeHeartbeat> | BodyOf<typeof edgeShortHeartbeat>;
export type HeartbeatReply = ReceivedOf<typeof edgeHeartbeatReply>;
export type ResyncRequest = ReceivedOf<typeof edgeResyncRequest>;
export type HealthMessage = BodyOf<typeof edgeHealth>;
export type ReceivedHealth = Pick<ReceivedOf<typeof edgeHealth>, 'edge' | 'sources'>;

/** `replica` undefined means any replica of admission. */
export interface TargetReplica {
  readonly replica: string | undefined;
  readonly timeoutMs: number;
}

/** An entry of the shared store with the number of the write that made it. */
export interface QuotaText {
  readonly value: string;
  readonly revision: number;
}

/** The edge's messages on the bus. A rejected promise or `fault` carries the bus's short code. */
export interface BusClient {
  /** Calls back only after it has returned, and not again after `fault`. */
  requestAdmission(
    batch: AdmissionBatch,
    on: { answer(answer: AdmissionBatchAnswer): void; fault(code: string): void },
    to: TargetReplica,
  ): { close(): void };
  authorize(question: AuthorizeQuestion, to: TargetReplica): Promise<AuthorizeAnswer>;
  usage(question: AuthorizeQuestion, to: TargetReplica): Promise<UsageAnswer>;
  /** Resolves when the stream has stored the message on the subject of this group of shards. */
  storeUsage(group: number, message: Buffer): Promise<void>;
  /** @param place of the edge's messages in the stream: the next one for it replaces this one */
  storeHeartbeat(heartbeat: Heartbeat, place: string): Promise<void>;
  /** Which source gave an ID: resolves when the edges' shared store has it. */
  putAnswer(key: string, source: string): Promise<void>;
  /** Null: the server that answers has none, or not yet. */
  getAnswer(key: string): Promise<string | null>;
  /** Null: the store has none. Fails while the store has no leader. */
  confirmAnswer(key: string): Promise<string | null>;
  /** IDs in the store. */
  countAnswers(): Promise<number>;
  /** What edges have agreed on of a source's quotas; null: nothing, or it has ended long ago. */
  readQuota(source: string): Promise<QuotaText | null>;
  /**
   * False: another edge has replaced that revision (0: none) before. After a rejection it may still
   * come to be stored, as long as nobody else replaces that revision.
   */
  replaceQuota(source: string, value: string, revision: number): Promise<boolean>;
  /** Lost while NATS is away. The next one repeats it. */
  publishHealth(health: HealthMessage): void;
}

/**
 * Receives a source's answer in this order: `sent`, `head`, `data`…, then `end` or `failed`.
 * `failed` may come at any time. It never throws: whoever tells it could only lose that.
 */
export interface SourceReader {
  /** The request is being written to a connection: from now on the provider may have got it. */
  sent(): void;
  /**
   * The connection has taken the whole body, after `sent`. Called for large bodies only. `reused`:
   * the connection had answered another request before, so a fresh one may be needed.
   */
  bodyTaken(reused: boolean): void;
  /** A final status. `headers` have lower-case names; a repeated header is an array. */
  head(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void;
  data(chunk: Buffer): void;
  /** `openEnded`: only the end of the connection ended the body. */
  end(openEnded: boolean): void;
  failed(failure: SourceFailure): void;
}

export interface SourceFailure {
  /**
   * `private`: the source's address is private, which is not allowed, so no connection was tried.
   * `unreachable`: no connection was made. `unanswered`: the connection ended after the request was
   * sent and before the head was complete, or the answer is not HTTP. `broken`: it ended later.
   */
  readonly kind: 'private' | 'unreachable' | 'unanswered' | 'broken';
  /**
   * The connection had answered another request before: the provider may have closed it while it
   * was idle.
   */
  readonly reused: boolean;
  /** For logs and spans; names no secret. */
  readonly reason: string;
}

/** One request to a source. After `abort` the reader gets no more calls. */
export interface SourceExchange {
  pause(): void;
  resume(): void;
  abort(): void;
}

export interface SourceRequest {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly path: string;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  /** The body's bytes, piece after piece. */
  readonly body: readonly Buffer[];
  /** The answer may stay open for long, so the body is freed once it is sent. */
  readonly streamed: boolean;
  /** Opens a new connection instead of taking an idle one. */
  readonly freshConnection: boolean;
}

export interface SourceSender {
  send(request: SourceRequest, reader: SourceReader): SourceExchange;
}

/** What of a request a signature covers, and with what a token goes. */
export type RequestToAuthorize = Pick<SourceRequest, 'origin' | 'path' | 'headers' | 'body'>;

/** Headers that let one request in. */
export interface Authorized {
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  /** Which of the credentials that followed on each other they were made with. */
  readonly version: number;
}

/**
 * Lets requests in with a credential that is signed with, that expires, or that is one of several.
 */
export interface Authorizer {
  /** `token`: another one can be fetched. `keys`: others are at hand. */
  readonly kind: 'token' | 'keys';
  /**
   * At once where nothing is to be waited for. Rejects with {@link CredentialError}. Keeps no piece
   * of the body once it has returned, or a large one once it is hashed.
   */
  headersFor(request: RequestToAuthorize): Authorized | Promise<Authorized>;
  /** Whether a request that was refused with this version may be let in with another. */
  mayReplace(version: number): boolean;
  /** A request that was let in with that version has ended. */
  judged(version: number, judged: JudgedAttempt, account: string): void;
}

/** A credential cannot be used, or cannot be had now. Its text names no secret. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError';
}

/**
 * The authorizers of a process. Of credentials that are signed with or expire there is one for each
 * distinct credential, whatever sources have it; a list of keys is its source's own.
 */
export interface Authorizers {
  /**
   * Null: nothing but a fixed header is needed.
   * @param credential opened; null: the process has that of its surroundings
   * @throws CredentialError when it cannot be used
   */
  acquire(auth: CatalogSource['auth'], credential: string | null): Authorizer | null;
  /** To be called once for each {@link acquire}: what nobody has any more is forgotten. */
  release(authorizer: Authorizer): void;
}

/** Ways to be let in by a header that has a key. */
export type FixedAuth = Extract<CatalogSource['auth'], { type: 'bearer' | 'header' }>;
/** Ways to be let in that need more than that. */
export type SignedAuth = Exclude<CatalogSource['auth'], FixedAuth>;

/** One request to a token endpoint. */
export interface TokenRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface TokenAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Asks token endpoints. */
export interface TokenHttp {
  /**
   * Follows no redirect. Rejects when there is no complete answer in time, when it is too large,
   * and with `PrivateAddressError` where private addresses are not allowed.
   */
  ask(request: TokenRequest): Promise<TokenAnswer>;
}

/** A source, ready to be sent to. */
export interface OpenedSource {
  readonly source: CatalogSource;
  readonly origin: string;
  /** Path of the base URL, without a slash at its end. */
  readonly basePath: string;
  /**
   * Its own headers, with the opened credential where that is sent as it is, lower-case names:
   * name, value, name, value.
   */
  readonly headers: readonly string[];
  /** Null: the headers let it in. */
  readonly authorizer: Authorizer | null;
}

/** The edge's read copy of the catalog. */
export interface Catalog {
  /** False until the first complete copy has come. */
  ready(): boolean;
  /** The revision of the complete copy; null before the first. */
  revision(): number | null;
  /** The catalog ID that a client's name for a model stands for; an unknown name as it is. */
  resolve(name: string): string;
  model(id: string): CatalogModel | undefined;
  models(): Iterable<CatalogModel>;
  /** A source as the catalog has it, another object after each change. */
  entry(id: string): CatalogSource | undefined;
  /** The source with its opened credential; undefined if that does not open. */
  source(id: string): OpenedSource | undefined;
  /** Why it cannot be used, in words without a secret; null: nothing is known against it. */
  problemOf(id: string): string | null;
  /** All sources of the model, disabled ones included. */
  sourcesOf(model: string): readonly CatalogSource[];
}

/** The headers that the edge reads. Values are as the parser gave them: one character a byte. */
export interface ClientHeaders {
  readonly authorization: string | null;
  readonly hasTwoAuthorizations: boolean;
  readonly apiKey: string | null;
  readonly hasTwoApiKeys: boolean;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /** Announced bytes; null when the body is chunked. 0 without a body. */
  readonly contentLength: number | null;
  readonly accept: string | undefined;
  readonly requestId: string | undefined;
  readonly traceparent: string | undefined;
  readonly openaiBeta: string | undefined;
  readonly anthropicVersion: string | undefined;
  readonly anthropicBeta: string | undefined;
  /** Of `CLASS_HEADERS`: name and value, as often as each was sent. */
  readonly classHeaders: readonly (readonly [name: string, value: string])[];
  /** All headers as they came: name, value, name, value. */
  readonly raw: readonly string[];
}

/** A request's body in memory. It counts toward the memory bound until it is freed. */
export interface RequestBody {
  /** Moved to another thread and back while that parses it. */
  bytes: Buffer;
  /** Admission has confirmed the key of the request. */
  opened(): void;
  free(): void;
}

export type BodyRead =
  | { readonly kind: 'complete'; readonly body: RequestBody }
  | { readonly kind: 'too_large' }
  /** The bodies in memory have reached their bound. */
  | { readonly kind: 'overload' }
  | { readonly kind: 'gone' };

/** Parses bodies as calls (domain/parse-call) without blocking other requests. */
export interface BodyParser {
  /** A large body is moved to another thread meanwhile. Rejects if it is lost there. */
  parse(
    row: EndpointRow,
    headers: RequestContentHeaders,
    body: Pick<RequestBody, 'bytes'>,
  ): ParseResult | Promise<ParseResult>;
}

/** One client request, its head read. */
export interface ClientRequest {
  /** x-gateway-request-id: a UUIDv7. */
  id: string;
  /** Gives the request and its answer a new id. Only before the answer has begun. */
  renewId(): string;
  readonly headers: ClientHeaders;
  /** The client's network (see `clientNetwork`), for bounds on unknown clients. */
  readonly client: string;
  /** Without the question mark; empty when there is none. */
  readonly query: string;
  readonly answer: ClientAnswer;
  /**
   * At most once. Stops at `bytesMax`.
   * @param account the key's account; null while it is not known
   */
  readBody(bytesMax: number, account: string | null): Promise<BodyRead>;
}

/** Answers one client request. Drops everything written after the client has gone. */
export interface ClientAnswer {
  readonly isGone: boolean;
  /** Whether a head was written. */
  readonly hasBegun: boolean;
  /** Calls once if the connection closes before the answer is complete. */
  onGone(listener: () => void): void;
  onDrain(listener: () => void): void;
  /** Name, value, name, value; the ids are added. The head travels with the first bytes. */
  begin(status: number, headers: readonly string[]): void;
  /** False: the client reads slower than this; wait for `onDrain`. */
  write(bytes: Buffer): boolean;
  /** What its client does not read is given up after the longest pause; also after `cut`. */
  end(bytes: Buffer | null): void;
  /**
   * Writes `ending`, then destroys the connection without its last chunk, so that it never looks
   * complete.
   */
  cut(ending: Buffer | null): void;
  /** Destroys the connection at once, with all unread bytes. */
  destroy(): void;
  /**
   * After `end`: false while bytes wait for a client that does not read. `onClosed` is then called
   * when the last of them is written or the connection is closed.
   */
  isSent(onClosed: () => void): boolean;
  /**
   * Calls `stalled` when the client has read no byte for `ms` milliseconds. Use it while written
   * bytes wait. {@link unwatchReading} and the end of the answer stop it.
   */
  watchReading(ms: number, stalled: () => void): void;
  unwatchReading(): void;
}
