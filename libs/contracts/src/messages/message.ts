import type { z } from 'zod';

/** The processes with their own bus user. Permissions are derived from the message table. */
export const SERVICE_NAMES = ['edge-proxy', 'admission', 'billing', 'catalog', 'accounts', 'dashboard'] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

/** The JetStream streams. Each one is created and trimmed by its owner. */
export type StreamName = 'USAGE' | 'HEARTBEATS';

interface MessageShape {
  /** Unique name, used in metrics, spans and schema files. */
  readonly name: string;
  /** NATS subject. The sender replaces `{word}` by one token. */
  readonly subject: string;
  /** Sent as `v` in each body. Receivers reject unknown versions. */
  readonly version: number;
  readonly sentBy: readonly ServiceName[];
  readonly servedBy: readonly ServiceName[];
  /**
   * Set for messages of every call. Handlers check them by {@link compileCheck} and pass the body
   * on without a copy, including unknown fields. Their schemas have no defaults and no custom
   * rules.
   */
  readonly checkedInPlace?: true;
}

/**
 * Packs a body into a list: its version first, then its fields without names
 * (`generated/positions.ts`). Neither function validates, and `unpack` may throw.
 */
export interface Packing {
  pack(body: unknown, version: number): unknown;
  unpack(list: unknown): unknown;
}

/** A request with one response, or with as many as are needed (`answers: 'many'`). */
export interface RequestMessage<Q extends z.ZodType, A extends z.ZodType> extends MessageShape {
  readonly kind: 'request';
  readonly body: Q;
  readonly answer: A;
  readonly answers: 'one' | 'many';
  /** Default timeout of the requester, in milliseconds. */
  readonly timeoutMs: number;
  /** Also served on `<subject>.<replica>`, so that a retry can use another replica. */
  readonly perReplica: boolean;
  /** Set if request and response are packed. Absent: both are objects. */
  readonly packed?: { readonly body: Packing; readonly answer: Packing };
}

/** A message without a response and without storage. */
export interface PublishedMessage<B extends z.ZodType> extends MessageShape {
  readonly kind: 'published';
  readonly body: B;
  /** `one`: one replica of the receiving service (queue group). `all`: each replica. */
  readonly reaches: 'one' | 'all';
}

/** A message that a stream stores. The sender waits for the stream's acknowledgement. */
export interface StoredMessage<B extends z.ZodType> extends MessageShape {
  readonly kind: 'stored';
  readonly body: B;
  readonly stream: StreamName;
  /** Set if the body is packed. Absent: it is an object. */
  readonly packed?: { readonly body: Packing };
}

export type AnyMessage = RequestMessage<z.ZodType, z.ZodType> | PublishedMessage<z.ZodType> | StoredMessage<z.ZodType>;

/** The body that a sender writes. The bus adds `v`. */
export type BodyOf<M extends { body: z.ZodType }> = z.input<M['body']>;
/** The body that a handler gets after validation. */
export type ReceivedOf<M extends { body: z.ZodType }> = z.output<M['body']>;
export type AnswerOf<M extends { answer: z.ZodType }> = z.output<M['answer']>;
export type AnswerBodyOf<M extends { answer: z.ZodType }> = z.input<M['answer']>;

type Spec<M extends AnyMessage, Defaulted extends keyof M> = Omit<M, 'kind' | 'subject' | 'version' | Defaulted> &
  Partial<Pick<M, 'subject' | 'version' | Defaulted>>;

/** Creates a request. By default its subject is its name, and any replica sends one response. */
export function request<Q extends z.ZodType, A extends z.ZodType>(
  spec: Spec<RequestMessage<Q, A>, 'answers' | 'perReplica'>,
): RequestMessage<Q, A> {
  return { kind: 'request', subject: spec.name, version: 1, answers: 'one', perReplica: false, ...spec };
}

export function published<B extends z.ZodType>(spec: Spec<PublishedMessage<B>, never>): PublishedMessage<B> {
  return { kind: 'published', subject: spec.name, version: 1, ...spec };
}

export function stored<B extends z.ZodType>(spec: Spec<StoredMessage<B>, never>): StoredMessage<B> {
  return { kind: 'stored', subject: spec.name, version: 1, ...spec };
}

/** Fills in the words of a subject. Throws if a word is missing or is not a plain subject token. */
export function fillSubject(
  message: { readonly subject: string },
  words: Readonly<Record<string, string | number>>,
): string {
  return message.subject.replace(/\{(\w+)\}/g, (_match, word: string) => {
    const token = String(words[word] ?? '');
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(token))
      throw new Error(`subject ${message.subject} needs a plain token for {${word}}`);
    return token;
  });
}

/** Returns the subject as a subscription, in which every `{word}` matches one token. */
export function subjectPattern(
  message: { readonly subject: string },
  words: Readonly<Record<string, string | undefined>> = {},
): string {
  return message.subject.replace(/\{(\w+)\}/g, (_whole, name: string) => words[name] ?? '*');
}

/**
 * Common fields of the requests that the dashboard sends for people and operators to the service
 * that owns the object.
 */
export const managementBy = <S extends ServiceName>(service: S) =>
  ({ sentBy: ['dashboard'], servedBy: [service], timeoutMs: 8_000 }) as const;
