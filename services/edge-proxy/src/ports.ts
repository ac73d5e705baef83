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
import type { EndpointSpec } from './formats/endpoints.js';
import type { AttemptJudgment } from './errors/judge-attempt.js';
import type { ParseResult, RequestContentHeaders } from './parse/parse-call.js';

export type AdmissionBatch = BodyOf<typeof admissionBatch>;
export type AdmissionBatchReply = AnswerOf<typeof admissionBatch>;
export type AuthorizeRequest = BodyOf<typeof admissionAuthorize>;
export type AuthorizeReply = AnswerOf<typeof admissionAuthorize>;
export type UsageReply = AnswerOf<typeof admissionUsage>;
/** A full heartbeat, or a short one. */
export type Heartbeat = BodyOf<typeof edgeHeartbeat> | BodyOf<typeof edgeShortHeartbeat>;
export type HeartbeatReply = ReceivedOf<typeof edgeHeartbeatReply>;
export type ResyncRequest = ReceivedOf<typeof edgeResyncRequest>;
export type HealthMessage = BodyOf<typeof edgeHealth>;
export type ReceivedHealth = Pick<ReceivedOf<typeof edgeHealth>, 'edge' | 'sources'>;

/** `replica` undefined: any replica of admission. */
export interface TargetReplica {
  readonly replica: string | undefined;
  readonly timeoutMs: number;
}

/** An entry of the shared store, with the revision of its last write. */
export interface QuotaEntry {
  readonly value: string;
  readonly revision: number;
}

/** The edge's messages on the bus. Rejected promises and `fault` have the bus's short code. */
export interface BusClient {
  /** Calls back asynchronously, and not again after `fault`. */
  requestAdmission(
    batch: AdmissionBatch,
    on: { answer(answer: AdmissionBatchReply): void; fault(code: string): void },
    to: TargetReplica,
  ): { close(): void };
  authorize(question: AuthorizeRequest, to: TargetReplica): Promise<AuthorizeReply>;
  usage(question: AuthorizeRequest, to: TargetReplica): Promise<UsageReply>;
  /** Resolves when the stream has stored the message on the subject of this shard group. */
  storeUsage(group: number, message: Buffer): Promise<void>;
  /**
   * @param place of the edge's messages in the stream; the next message for it replaces this one
   */
  storeHeartbeat(heartbeat: Heartbeat, place: string): Promise<void>;
  /** Stores the source of a response ID. Resolves when the edges' shared store has it. */
  putAnswer(key: string, source: string): Promise<void>;
  /** Null: the queried server does not have the ID, or not yet. */
  getAnswer(key: string): Promise<string | null>;
  /** Null: the store does not have the ID. Rejects while the store has no leader. */
  confirmAnswer(key: string): Promise<string | null>;
  /** Number of IDs in the store. */
  countAnswers(): Promise<number>;
  /** The edges' shared entry for a source's quotas; null: there is none, or it expired. */
  readQuota(source: string): Promise<QuotaEntry | null>;
  /**
   * False: another edge has already replaced that revision (0: none). After a rejection the entry
   * may still be stored later, unless another edge replaces that revision first.
   */
  replaceQuota(source: string, value: string, revision: number): Promise<boolean>;
  /** The message is lost while NATS is unavailable. The next one repeats it. */
  publishHealth(health: HealthMessage): void;
}

/**
 * Receives a source's response in this order: `sent`, `head`, `data`…, then `end` or `failed`.
 * `failed` may come at any time. The methods never throw, because the sender cannot handle an
 * exception.
 */
export interface SourceReader {
  /**
   * The request is being written to a connection. From now on the provider may have received it.
   */
  sent(): void;
  /**
   * The connection has accepted the whole body, after `sent`. Called for large bodies only.
   * `reused`: the connection has carried another request before, so a retry on a new one may be
   * needed.
   */
  bodyTaken(reused: boolean): void;
  /** A final status. Names in `headers` are in lower case; a repeated header is an array. */
  head(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void;
  data(chunk: Buffer): void;
  /** `openEnded`: only the end of the connection ended the body. */
  end(openEnded: boolean): void;
  failed(failure: SourceFailure): void;
}

export interface SourceFailure {
  /**
   * `private`: the source's address is private and not allowed, so no connection was attempted.
   * `unreachable`: no connection was made. `unanswered`: the connection ended after the request was
   * sent and before the head was complete, or the response is not HTTP. `broken`: the connection
   * ended later.
   */
  readonly kind: 'private' | 'unreachable' | 'unanswered' | 'broken';
  /** The connection was reused. The provider may have closed it while it was idle. */
  readonly reused: boolean;
  /** For logs and spans. Contains no secret. */
  readonly reason: string;
}

/** One request to a source. After `abort` the reader receives no more calls. */
export interface SourceAttempt {
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
  /** The body in chunks. */
  readonly body: readonly Buffer[];
  /** The response may stay open for a long time, so the body is freed once it is sent. */
  readonly streamed: boolean;
  /** Opens a new connection instead of using an idle one. */
  readonly freshConnection: boolean;
}

export interface SourceSender {
  send(request: SourceRequest, reader: SourceReader): SourceAttempt;
}

/** The parts of a request that a signature covers. */
export type RequestToAuthorize = Pick<SourceRequest, 'origin' | 'path' | 'headers' | 'body'>;

/** Headers that authorize one request. */
export interface AuthorizationHeaders {
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  /** Version of the credential that was used. */
  readonly version: number;
}

/** Authorizes requests with a credential that signs, expires, or is one of several. */
export interface Authorizer {
  /** `token`: another one can be fetched. `keys`: there are several. */
  readonly kind: 'token' | 'keys';
  /**
   * Returns the headers at once if possible. Rejects with {@link CredentialError}. Does not keep
   * the body after it has returned; a large body is kept only until it is hashed.
   */
  headersFor(request: RequestToAuthorize): AuthorizationHeaders | Promise<AuthorizationHeaders>;
  /** Whether a request that was refused with this version may succeed with another one. */
  mayReplace(version: number): boolean;
  /** Reports the result of a request that used this version. */
  judged(version: number, judged: AttemptJudgment, account: string): void;
}

/** A credential is unusable or currently unavailable. The message contains no secret. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError';
}

/**
 * The authorizers of a process. Sources with the same signing or expiring credential share one
 * authorizer; each list of keys has its own.
 */
export interface Authorizers {
  /**
   * Returns null if a fixed header is enough.
   * @param credential decrypted; null: the process uses the credential of its environment
   * @throws CredentialError if the credential is unusable
   */
  acquire(auth: CatalogSource['auth'], credential: string | null): Authorizer | null;
  /** Must be called once for each {@link acquire}. Removes an authorizer without users. */
  release(authorizer: Authorizer): void;
}

/** Authentication by a header that contains a key. */
export type FixedAuth = Extract<CatalogSource['auth'], { type: 'bearer' | 'header' }>;
/** All other ways of authentication. */
export type SignedAuth = Exclude<CatalogSource['auth'], FixedAuth>;

/** One request to a token endpoint. */
export interface TokenRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface TokenResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends requests to token endpoints. */
export interface TokenHttp {
  /**
   * Does not follow redirects. Rejects if the response is incomplete after the timeout or too
   * large, and with `PrivateAddressError` if private addresses are not allowed.
   */
  ask(request: TokenRequest): Promise<TokenResponse>;
}

/** A source with its decrypted credential. */
export interface DecryptedSource {
  readonly source: CatalogSource;
  readonly origin: string;
  /** Path of the base URL, without a trailing slash. */
  readonly basePath: string;
  /**
   * The source's own headers, including the credential if it is a fixed header. Lower-case names:
   * name, value, name, value.
   */
  readonly headers: readonly string[];
  /** Null: the headers are enough. */
  readonly authorizer: Authorizer | null;
}

/** The edge's read copy of the catalog. */
export interface Catalog {
  /** False until the first complete copy has arrived. */
  ready(): boolean;
  /** The revision of the complete copy; null before the first. */
  revision(): number | null;
  /** The catalog ID of a model name or alias; an unknown name is returned unchanged. */
  resolve(name: string): string;
  model(id: string): CatalogModel | undefined;
  models(): Iterable<CatalogModel>;
  /** A source as stored in the catalog. Each change creates a new object. */
  entry(id: string): CatalogSource | undefined;
  /** The source with its decrypted credential; undefined if decryption fails. */
  source(id: string): DecryptedSource | undefined;
  /** Why the source cannot be used, without secrets; null: no known problem. */
  problemOf(id: string): string | null;
  /** All sources of the model, disabled ones included. */
  sourcesOf(model: string): readonly CatalogSource[];
}

/** The headers that the edge reads. Values are as parsed: one character for each byte. */
export interface ClientHeaders {
  readonly authorization: string | null;
  readonly hasTwoAuthorizations: boolean;
  readonly apiKey: string | null;
  readonly hasTwoApiKeys: boolean;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /** Content length; null for a chunked body, 0 without a body. */
  readonly contentLength: number | null;
  readonly accept: string | undefined;
  readonly requestId: string | undefined;
  readonly traceparent: string | undefined;
  readonly openaiBeta: string | undefined;
  readonly anthropicVersion: string | undefined;
  readonly anthropicBeta: string | undefined;
  /** Names and values of the headers in `CLASS_HEADERS`, including repeated ones. */
  readonly classHeaders: readonly (readonly [name: string, value: string])[];
  /** All headers as received: name, value, name, value. */
  readonly raw: readonly string[];
}

/** A request's body in memory. It counts toward the memory limit until it is freed. */
export interface RequestBody {
  /** Moved to another thread while that thread parses it, and then moved back. */
  bytes: Buffer;
  /** Records that admission has confirmed the request's key. */
  opened(): void;
  free(): void;
}

export type BodyRead =
  | { readonly kind: 'complete'; readonly body: RequestBody }
  | { readonly kind: 'too_large' }
  /** The bodies in memory have reached their limit. */
  | { readonly kind: 'overload' }
  | { readonly kind: 'gone' };

/** Parses bodies as calls without blocking other requests. */
export interface BodyParser {
  /** A large body is parsed in another thread. Rejects if that thread fails. */
  parse(
    row: EndpointSpec,
    headers: RequestContentHeaders,
    body: Pick<RequestBody, 'bytes'>,
  ): ParseResult | Promise<ParseResult>;
}

/** One client request, after its head was read. */
export interface ClientRequest {
  /** x-gateway-request-id: a UUIDv7. */
  id: string;
  /**
   * Assigns a new ID to the request and its response. Must be called before the response has begun.
   */
  renewId(): string;
  readonly headers: ClientHeaders;
  /** The client's network (see `clientNetwork`), for limits on unknown clients. */
  readonly client: string;
  /** Without the question mark; empty if there is no query. */
  readonly query: string;
  readonly answer: ClientResponse;
  /**
   * Reads the body up to `bytesMax`. May be called once.
   * @param account the account in whose share of the memory the bytes count; null: not known yet
   */
  readBody(bytesMax: number, account: string | null): Promise<BodyRead>;
}

/** The response to one client request. Drops everything written after the client has gone. */
export interface ClientResponse {
  readonly isGone: boolean;
  /** Whether the head was written. */
  readonly hasBegun: boolean;
  /** Called once if the connection closes before the response is complete. */
  onGone(listener: () => void): void;
  onDrain(listener: () => void): void;
  /**
   * Headers: name, value, name, value; the IDs are added. The head is sent at the end of the tick,
   * or with the first bytes if the headers have a content length.
   */
  begin(status: number, headers: readonly string[]): void;
  /** False: the client reads too slowly; wait for `onDrain`. */
  write(bytes: Buffer): boolean;
  /**
   * Ends the response. Bytes that the client does not read are dropped after the longest pause;
   * also after `cut`.
   */
  end(bytes: Buffer | null): void;
  /**
   * Writes `ending`, then destroys the connection without the terminating chunk, so that the
   * response never looks complete.
   */
  cut(ending: Buffer | null): void;
  /** Destroys the connection at once, including unread bytes. */
  destroy(): void;
  /**
   * After `end`: false while bytes wait for a client that does not read. `onClosed` is called when
   * the last of them is written or the connection closes.
   */
  isSent(onClosed: () => void): boolean;
  /**
   * Calls `stalled` when the client has read no byte for `ms` milliseconds. Use it while written
   * bytes wait. {@link unwatchReading} and the end of the response stop it.
   */
  watchReading(ms: number, stalled: () => void): void;
  unwatchReading(): void;
}
