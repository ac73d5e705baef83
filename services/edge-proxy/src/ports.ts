import type {
  AnswerOf,
  BodyOf,
  CatalogModel,
  CatalogSource,
  ReceivedOf,
  admissionAuthorize,
  admissionBatch,
  admissionUsage,
  catalogMirrored,
  edgeHeartbeat,
  edgeHealth,
  edgeHeartbeatReply,
} from '@gateway/contracts/messages';
import type { EndpointRow } from './domain/endpoints.js';
import type { ParseResult, RequestContentHeaders } from './domain/parse-call.js';

export type AdmissionBatch = BodyOf<typeof admissionBatch>;
export type AdmissionBatchAnswer = AnswerOf<typeof admissionBatch>;
export type AuthorizeQuestion = BodyOf<typeof admissionAuthorize>;
export type AuthorizeAnswer = AnswerOf<typeof admissionAuthorize>;
export type UsageAnswer = AnswerOf<typeof admissionUsage>;
export type Beat = BodyOf<typeof edgeHeartbeat>;
export type Verdict = ReceivedOf<typeof edgeHeartbeatReply>;
export type Told<What extends 'health' | 'mirrored'> = BodyOf<
  { health: typeof edgeHealth; mirrored: typeof catalogMirrored }[What]
>;

/** `replica` undefined: any of admission's replicas. */
export interface AskedReplica {
  readonly replica: string | undefined;
  readonly timeoutMs: number;
}

/** The bus, as far as the edge speaks it. A rejected promise or `fault` carries the bus's short code. */
export interface BusLine {
  /** Nothing is called back inside this call; after `fault` nothing comes. */
  askAdmission(
    batch: AdmissionBatch,
    on: { answer(answer: AdmissionBatchAnswer): void; fault(code: string): void },
    to: AskedReplica,
  ): { close(): void };
  authorize(question: AuthorizeQuestion, to: AskedReplica): Promise<AuthorizeAnswer>;
  usage(question: AuthorizeQuestion, to: AskedReplica): Promise<UsageAnswer>;
  /** Resolves when the stream has stored the message. */
  storeUsage(shard: number, message: Buffer): Promise<void>;
  storeBeat(beat: Beat): Promise<void>;
  /** These two are not kept while NATS is away: the next ones say the same. */
  tellHealth(health: Told<'health'>): void;
  tellMirrored(mirrored: Told<'mirrored'>): void;
}

/** What a source answers, in this order: `sent`, `head`, `data`…, then `end` or `failed`. `failed` may come at any time. */
export interface SourceReader {
  /** The request is being written to a connection: from now on the provider may have got it. */
  sent(): void;
  /**
   * The connection has taken the whole body, after `sent`; told of large bodies. `reused`: it had answered another request
   * before, so that a fresh one may have to be tried.
   */
  bodyTaken(reused: boolean): void;
  /** A final status. `headers` have lower-case names; a repeated header is an array. */
  head(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void;
  data(chunk: Buffer): void;
  /** `openEnded`: nothing but the end of the connection has told that the body is complete. */
  end(openEnded: boolean): void;
  failed(failure: SourceFailure): void;
}

export interface SourceFailure {
  /**
   * `private`: the source's address is a private one, and such are not allowed: no connection was tried.
   * `unreachable`: no connection was made. `unanswered`: it ended after the request was sent, before the head of an answer was
   * complete, or what came is no HTTP. `broken`: it ended later.
   */
  readonly kind: 'private' | 'unreachable' | 'unanswered' | 'broken';
  /** The connection had answered another request before: the provider may have closed it while it was idle. */
  readonly reused: boolean;
  /** For logs and spans; names no secret. */
  readonly reason: string;
}

/** One request to a source. After `abort` the reader hears nothing more. */
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
  /** The answer may stay open for long: nothing of the body is kept beside it. */
  readonly streamed: boolean;
  /** Opens a connection of its own instead of taking an idle one. */
  readonly freshConnection: boolean;
}

export interface SourceSender {
  send(request: SourceRequest, reader: SourceReader): SourceExchange;
}

/** A source, ready to be sent to. */
export interface OpenedSource {
  readonly source: CatalogSource;
  readonly origin: string;
  /** Path of the base URL, without a slash at its end. */
  readonly basePath: string;
  /** Its own headers with the opened credential, lower-case names: name, value, name, value. */
  readonly headers: readonly string[];
}

/** The edge's read copy of the catalog. */
export interface Catalog {
  /** False until the first complete copy has come. */
  ready(): boolean;
  /** Of the complete copy, null before the first. */
  revision(): number | null;
  model(id: string): CatalogModel | undefined;
  models(): Iterable<CatalogModel>;
  /** A source as the catalog has it, another object after each change. */
  entry(id: string): CatalogSource | undefined;
  /** With its credential, which is opened at the first use; undefined when it does not open. */
  source(id: string): OpenedSource | undefined;
  /** Disabled ones included. */
  sourcesOf(model: string): readonly CatalogSource[];
}

/** What the edge reads of a request's head. Values are as the parser gave them: one character a byte. */
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
}

/** A request's body in memory. It counts toward what the edge may hold until it is freed: whoever frees it lets go of it. */
export interface RequestBody {
  /** Handed to another thread and back while it is read there. */
  bytes: Buffer;
  /** Admission has confirmed its key: it is no stranger's. */
  opened(): void;
  free(): void;
}

export type BodyRead =
  | { readonly kind: 'complete'; readonly body: RequestBody }
  | { readonly kind: 'too_large' }
  /** The edge holds as many bytes of bodies as it may. */
  | { readonly kind: 'overload' }
  | { readonly kind: 'gone' };

/** Reads bodies as calls (domain/parse-call), where that keeps nobody else waiting. */
export interface BodyParser {
  /** While a large body is read its bytes are elsewhere. Rejects when they are lost. */
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
  /** Gives the request and its answer an id of this moment; only before the answer has begun. */
  renewId(): string;
  readonly headers: ClientHeaders;
  /** The network that the client asks from: see `clientNetwork`. For bounds on what strangers cost. */
  readonly client: string;
  /** Without the question mark; empty when there is none. */
  readonly query: string;
  readonly answer: ClientAnswer;
  /**
   * At most once. Stops at `bytesMax`.
   * @param account whose key it is; null while that is not known
   */
  readBody(bytesMax: number, account: string | null): Promise<BodyRead>;
}

/** The answering side of one client request. After the client has gone, everything written is dropped. */
export interface ClientAnswer {
  readonly isGone: boolean;
  /** Whether a head was written. */
  readonly hasBegun: boolean;
  /** Called once when the connection closes before the answer is complete. */
  onGone(listener: () => void): void;
  onDrain(listener: () => void): void;
  /** Name, value, name, value; the ids are added. The head travels with the first bytes. */
  begin(status: number, headers: readonly string[]): void;
  /** False: the client reads slower than this; wait for `onDrain`. */
  write(bytes: Buffer): boolean;
  end(bytes: Buffer | null): void;
  /** Writes `ending`, then destroys the connection without its last chunk, so that it never looks complete. */
  cut(ending: Buffer | null): void;
  /** Destroys the connection at once, with what the client has not read. */
  destroy(): void;
  /**
   * After `end`: false while bytes wait for a client that does not read. `onClosed` is called then when the last of them
   * is written or the connection is closed.
   */
  isSent(onClosed: () => void): boolean;
  /**
   * Calls `stalled` when the client has taken no byte of what was written for `ms`. Meant for while something waits to be
   * taken; ended by {@link unwatchReading} and by the end of the answer.
   */
  watchReading(ms: number, stalled: () => void): void;
  unwatchReading(): void;
}
