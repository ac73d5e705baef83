import type { Endpoint } from '@gateway/contracts/messages';

/** The style of an endpoint's errors: envelope and type names. */
export type EndpointStyle = 'chat' | 'messages';
/** The format of an endpoint's responses, which selects the reader. */
export type ResponseFormat = 'chat' | 'completion' | 'message' | 'response' | 'embedding' | 'token_count';
/** Kinds of JSON values, with the names of the scanner. */
export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

/**
 * The valid values of a top-level field (docs/behaviour.md#fields). `null` in an optional field
 * means unset.
 */
export type FieldType =
  | 'model' // a string of 1 to MODEL_NAME_LENGTH_MAX characters
  | 'objects' // an array of objects
  | 'flag' // a boolean
  | 'choices' // an integer, 1 to CHOICES_MAX
  | 'limit' // an integer, below 0 only if a source accepts it
  | 'unlisted' // anything; read if possible, since it may bound the cost
  | 'any' // anything, but only once, since it may name stored objects
  | 'object'
  | 'text' // a string or an array
  | 'off'; // only false

/** A field that the gateway reads. It must not occur twice at the top level. */
export interface FieldRule {
  readonly name: string;
  readonly type: FieldType;
  readonly required: boolean;
}

/** An endpoint that calls a model. */
export interface EndpointSpec {
  readonly path: Endpoint;
  readonly style: EndpointStyle;
  readonly billed: boolean;
  readonly format: ResponseFormat;
  /** The kind of model that the endpoint calls. */
  readonly kind: 'chat' | 'embedding';
  /**
   * The response is generated text. Its length is bounded, and it can be a stream if the endpoint
   * has the field `stream`.
   */
  readonly generates: boolean;
  /** The member that holds the prompt, and its form. */
  readonly prompt: { readonly name: string; readonly holds: PromptForm };
  /** The gateway may request usage in a stream with `stream_options.include_usage`. */
  readonly streamUsageOption: boolean;
  /**
   * The endpoint's own output limits. Other limits may raise the worst case, but never lower it.
   */
  readonly outputLimits: ReadonlySet<string>;
  readonly fields: readonly FieldRule[];
  /** Top-level members that are removed from the forwarded body. */
  readonly cut: ReadonlySet<string>;
}

/**
 * `messages`: an array of messages. `texts`: a text, tokens as integers, or an array of these,
 * where each element is a prompt. `items`: a text, or an array of messages and other items.
 */
export type PromptForm = 'messages' | 'texts' | 'items';

/** Maximum choices in one response (libs/contracts/specification/model-gateway-api.md#limits). */
export const CHOICES_MAX = 4;

/** Output token limits of all endpoints. */
export const TOKEN_LIMITS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'] as const;
/**
 * Fields that bound a response's length. All are read on every endpoint, since a provider may apply
 * any of them.
 */
const OUTPUT_FIELDS = ['n', 'best_of', ...TOKEN_LIMITS] as const;

/**
 * Returns a rule for each of these fields, with the type that the endpoint lists. Fields that the
 * endpoint does not list are forwarded with any value.
 */
function buildOutputFields(listed: Partial<Record<(typeof OUTPUT_FIELDS)[number], FieldType>>): FieldRule[] {
  return OUTPUT_FIELDS.map((name) => ({ name, type: listed[name] ?? 'unlisted', required: false }));
}

/** Returns rules for fields that may name stored objects, with any value. */
function buildAnyFields(...names: string[]): FieldRule[] {
  return names.map((name) => ({ name, type: 'any', required: false }));
}

const MODEL: FieldRule = { name: 'model', type: 'model', required: true };
const MESSAGES: FieldRule = { name: 'messages', type: 'objects', required: true };
const STREAM: FieldRule = { name: 'stream', type: 'flag', required: false };
const STREAM_OPTIONS: FieldRule = { name: 'stream_options', type: 'object', required: false };
const UNLISTED_STREAM_OPTIONS: FieldRule = { ...STREAM_OPTIONS, type: 'unlisted' };
const PROMPT: FieldRule = { name: 'prompt', type: 'text', required: true };
const INPUT: FieldRule = { name: 'input', type: 'text', required: true };

/** Settings of most endpoints. */
const USUAL = {
  style: 'chat',
  billed: true,
  kind: 'chat',
  generates: true,
  streamUsageOption: false,
  outputLimits: new Set<string>(['max_tokens']),
  cut: new Set<string>(),
} as const;

const ROWS: readonly EndpointSpec[] = [
  {
    ...USUAL,
    path: '/v1/chat/completions',
    format: 'chat',
    prompt: { name: 'messages', holds: 'messages' },
    streamUsageOption: true,
    outputLimits: new Set(['max_tokens', 'max_completion_tokens']),
    fields: [MODEL, MESSAGES, STREAM, STREAM_OPTIONS, ...buildOutputFields({ n: 'choices', max_tokens: 'limit' })],
  },
  {
    ...USUAL,
    path: '/v1/completions',
    format: 'completion',
    prompt: { name: 'prompt', holds: 'texts' },
    streamUsageOption: true,
    fields: [MODEL, PROMPT, STREAM, UNLISTED_STREAM_OPTIONS, ...buildOutputFields({ max_tokens: 'limit' })],
  },
  {
    ...USUAL,
    path: '/v1/responses',
    format: 'response',
    prompt: { name: 'input', holds: 'items' },
    outputLimits: new Set(['max_output_tokens']),
    // The result of a background request could be neither fetched nor billed.
    fields: [
      MODEL,
      INPUT,
      STREAM,
      { name: 'background', type: 'off', required: false },
      ...buildAnyFields('previous_response_id', 'conversation', 'tools', 'store'),
      ...buildOutputFields({}),
    ],
  },
  {
    ...USUAL,
    path: '/v1/embeddings',
    format: 'embedding',
    kind: 'embedding',
    generates: false,
    prompt: { name: 'input', holds: 'texts' },
    fields: [MODEL, INPUT],
  },
  {
    ...USUAL,
    path: '/v1/messages',
    style: 'messages',
    format: 'message',
    prompt: { name: 'messages', holds: 'messages' },
    fields: [
      MODEL,
      MESSAGES,
      STREAM,
      ...buildAnyFields('container'),
      ...buildOutputFields({ max_tokens: 'limit' }).map((rule) => ({ ...rule, required: rule.name === 'max_tokens' })),
    ],
  },
  {
    ...USUAL,
    path: '/v1/messages/count_tokens',
    style: 'messages',
    billed: false,
    format: 'token_count',
    generates: false,
    prompt: { name: 'messages', holds: 'messages' },
    fields: [MODEL, MESSAGES, ...buildAnyFields('container')],
    // Clients send the same body as for the message. Providers refuse members that only affect the
    // response.
    cut: new Set([
      'max_tokens',
      'stream',
      'temperature',
      'top_p',
      'top_k',
      'stop_sequences',
      'metadata',
      'service_tier',
    ]),
  },
];

/** The model endpoints (all POST) by their raw path. */
export const ENDPOINT_TABLE: ReadonlyMap<string, EndpointSpec> = new Map(ROWS.map((row) => [row.path, row]));
