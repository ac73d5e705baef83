import type { Endpoint } from '@gateway/contracts/messages';

/** Which envelope and which error words an endpoint has. */
export type EndpointStyle = 'chat' | 'messages';
/** The format of an endpoint's answers: names its reader. */
export type AnswerFormat = 'chat' | 'completion' | 'message' | 'response' | 'embedding' | 'token_count';
/** JSON kinds, as the scanner names them. */
export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

/**
 * What a top-level field must be (docs/behaviour.md#fields). `null` in an optional field means
 * unset.
 */
export type FieldType =
  | 'model' // a string of 1 to MODEL_NAME_LENGTH_MAX characters
  | 'objects' // an array of objects
  | 'flag' // a boolean
  | 'choices' // an integer, 1 to CHOICES_MAX
  | 'limit' // an integer, below 0 only where a source takes it as none
  | 'unlisted' // anything: read as far as it can be, since it may bound what the call costs
  | 'any' // anything, but once: it names stored objects
  | 'object'
  | 'text' // a string or an array
  | 'off'; // nothing but false

/** A field that the gateway reads: it must not occur twice at the top level. */
export interface FieldRule {
  readonly name: string;
  readonly type: FieldType;
  readonly required: boolean;
}

/** One model-calling endpoint. */
export interface EndpointRow {
  readonly path: Endpoint;
  readonly style: EndpointStyle;
  readonly billed: boolean;
  readonly format: AnswerFormat;
  /** The kind of model that it is for. */
  readonly kind: 'chat' | 'embedding';
  /**
   * The answer is generated text: its length has a bound, and where there is a field `stream`, it
   * can be a stream.
   */
  readonly generates: boolean;
  /** The member that holds the prompt, and what it is made of. */
  readonly prompt: { readonly name: string; readonly holds: PromptForm };
  /** The gateway may ask for usage in a stream by `stream_options.include_usage`. */
  readonly streamUsageOption: boolean;
  /** Its own limits of the output. Another name may raise the worst case and never lowers it. */
  readonly outputLimits: ReadonlySet<string>;
  readonly fields: readonly FieldRule[];
  /** Top-level members that are cut out of the body when it is forwarded. */
  readonly cut: ReadonlySet<string>;
}

/**
 * `messages`: an array of messages. `texts`: a text, tokens as integers, or an array of either:
 * each element is a prompt of its own. `items`: a text or an array of messages and other items.
 */
export type PromptForm = 'messages' | 'texts' | 'items';

/** Choices in one answer (libs/contracts/specification/model-gateway-api.md#limits). */
export const CHOICES_MAX = 4;

/** Limits of an answer's tokens, on one endpoint or another. */
export const TOKEN_LIMITS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'] as const;
/**
 * Fields that bound an answer's length. They are read on every endpoint, since any of them may
 * reach a provider that obeys it.
 */
const OUTPUT_FIELDS = ['n', 'best_of', ...TOKEN_LIMITS] as const;

/**
 * These fields, each by the type that the endpoint lists for it; those that it does not list are
 * forwarded whatever they are.
 */
function outputFields(listed: Partial<Record<(typeof OUTPUT_FIELDS)[number], FieldType>>): FieldRule[] {
  return OUTPUT_FIELDS.map((name) => ({ name, type: listed[name] ?? 'unlisted', required: false }));
}

/** Fields that name stored objects, whatever their value. */
function anyFields(...names: string[]): FieldRule[] {
  return names.map((name) => ({ name, type: 'any', required: false }));
}

const MODEL: FieldRule = { name: 'model', type: 'model', required: true };
const MESSAGES: FieldRule = { name: 'messages', type: 'objects', required: true };
const STREAM: FieldRule = { name: 'stream', type: 'flag', required: false };
const STREAM_OPTIONS: FieldRule = { name: 'stream_options', type: 'object', required: false };
const UNLISTED_STREAM_OPTIONS: FieldRule = { ...STREAM_OPTIONS, type: 'unlisted' };
const PROMPT: FieldRule = { name: 'prompt', type: 'text', required: true };
const INPUT: FieldRule = { name: 'input', type: 'text', required: true };

/** What most endpoints are. */
const USUAL = {
  style: 'chat',
  billed: true,
  kind: 'chat',
  generates: true,
  streamUsageOption: false,
  outputLimits: new Set<string>(['max_tokens']),
  cut: new Set<string>(),
} as const;

const ROWS: readonly EndpointRow[] = [
  {
    ...USUAL,
    path: '/v1/chat/completions',
    format: 'chat',
    prompt: { name: 'messages', holds: 'messages' },
    streamUsageOption: true,
    outputLimits: new Set(['max_tokens', 'max_completion_tokens']),
    fields: [MODEL, MESSAGES, STREAM, STREAM_OPTIONS, ...outputFields({ n: 'choices', max_tokens: 'limit' })],
  },
  {
    ...USUAL,
    path: '/v1/completions',
    format: 'completion',
    prompt: { name: 'prompt', holds: 'texts' },
    streamUsageOption: true,
    fields: [MODEL, PROMPT, STREAM, UNLISTED_STREAM_OPTIONS, ...outputFields({ max_tokens: 'limit' })],
  },
  {
    ...USUAL,
    path: '/v1/responses',
    format: 'response',
    prompt: { name: 'input', holds: 'items' },
    outputLimits: new Set(['max_output_tokens']),
    // The result of a call in the background could be neither fetched nor billed.
    fields: [
      MODEL,
      INPUT,
      STREAM,
      { name: 'background', type: 'off', required: false },
      ...anyFields('previous_response_id', 'conversation', 'tools', 'store'),
      ...outputFields({}),
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
      ...anyFields('container'),
      ...outputFields({ max_tokens: 'limit' }).map((rule) => ({ ...rule, required: rule.name === 'max_tokens' })),
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
    fields: [MODEL, MESSAGES, ...anyFields('container')],
    // Clients send the body of the call that they count for; providers refuse what is only for its
    // answer.
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

/** The served model-calling endpoints (all POST) by their raw path. */
export const ENDPOINT_TABLE: ReadonlyMap<string, EndpointRow> = new Map(ROWS.map((row) => [row.path, row]));
