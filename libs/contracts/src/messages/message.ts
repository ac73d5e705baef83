import type { z } from 'zod';

/**
 * The processes that have a bus user of their own. Permissions are derived from the message table.
 */
export const SERVICE_NAMES = ['edge-proxy', 'admission', 'billing', 'catalog', 'accounts', 'dashboard'] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

/** The JetStream streams; each is made and trimmed by its owner. */
export type StreamName = 'USAGE' | 'BEATS';

interface MessageShape {
  /** Unique name, used in metrics, spans and schema files. */
  readonly name: string;
  /** NATS subject; `{word}` stands for one token that the sender fills in. */
  readonly subject: string;
  /** Travels as `v` in each body; a receiver refuses versions that it does not know. */
  readonly version: number;
  readonly sentBy: readonly ServiceName[];
  readonly servedBy: readonly ServiceName[];
  /**
   * Part of every call: its handlers check it by {@link compileCheck} and hand it on as it came,
   * with fields that nobody knows, instead of a copy. Its schemas fill nothing in and have no rules
   * of their own.
   */
  readonly checkedInPlace?: true;
}

/**
 * A body as a list instead of an object: its version first, then its fields without their names
 * (`generated/positions.ts`). Neither function checks anything; `unpack` may throw.
 */
export interface Packing {
  pack(body: unknown, version: number): unknown;
  unpack(list: unknown): unknown;
}

/** A question with one answer, or with as many as are needed (`answers: 'many'`). */
export interface RequestMessage<Q extends z.ZodType, A extends z.ZodType> extends MessageShape {
  readonly kind: 'request';
  readonly body: Q;
  readonly answer: A;
  readonly answers: 'one' | 'many';
  /** How long the asker waits, in milliseconds, unless it states another time. */
  readonly timeoutMs: number;
  /** Also served on `<subject>.<replica>`, so that a retry can choose another replica. */
  readonly perReplica: boolean;
  /** Body and answer are packed. Without it, both are objects. */
  readonly packed?: { readonly body: Packing; readonly answer: Packing };
}

/** A message without an answer and without storage. */
export interface PublishedMessage<B extends z.ZodType> extends MessageShape {
  readonly kind: 'published';
  readonly body: B;
  /**
   * `one`: one replica of the receiving service gets it (queue group); `all`: each replica does.
   */
  readonly reaches: 'one' | 'all';
}

/** A message kept by a stream; the sender waits for the stream's acknowledgement. */
export interface StoredMessage<B extends z.ZodType> extends MessageShape {
  readonly kind: 'stored';
  readonly body: B;
  readonly stream: StreamName;
  /** The body is packed. Without it, it is an object. */
  readonly packed?: { readonly body: Packing };
}

export type AnyMessage = RequestMessage<z.ZodType, z.ZodType> | PublishedMessage<z.ZodType> | StoredMessage<z.ZodType>;

/** What a sender writes (`v` is added by the bus). */
export type BodyOf<M extends { body: z.ZodType }> = z.input<M['body']>;
/** What a handler is given after validation. */
export type ReceivedOf<M extends { body: z.ZodType }> = z.output<M['body']>;
export type AnswerOf<M extends { answer: z.ZodType }> = z.output<M['answer']>;
export type AnswerBodyOf<M extends { answer: z.ZodType }> = z.input<M['answer']>;

export function request<Q extends z.ZodType, A extends z.ZodType>(
  message: Omit<RequestMessage<Q, A>, 'kind'>,
): RequestMessage<Q, A> {
  return { kind: 'request', ...message };
}

export function published<B extends z.ZodType>(message: Omit<PublishedMessage<B>, 'kind'>): PublishedMessage<B> {
  return { kind: 'published', ...message };
}

export function stored<B extends z.ZodType>(message: Omit<StoredMessage<B>, 'kind'>): StoredMessage<B> {
  return { kind: 'stored', ...message };
}

/**
 * The subject with its `{word}`s filled in. Throws when a word is missing or is no plain subject
 * token.
 */
export function subjectOf(
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

/** The subject as a subscription: every `{word}` matches one token. */
export function subjectPattern(
  message: { readonly subject: string },
  words: Readonly<Record<string, string | undefined>> = {},
): string {
  return message.subject.replace(/\{(\w+)\}/g, (_whole, name: string) => words[name] ?? '*');
}
