import type { Endpoint } from '@gateway/contracts/messages';

/** Which envelope and which error words an endpoint has. */
export type EndpointStyle = 'chat' | 'messages';
/** The format of an endpoint's answers: names its reader. */
export type AnswerFormat = 'chat';
/** JSON kinds, as the scanner names them. */
export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

/** What a top-level field must be (behaviour §1, row 8 and Fields). `null` in an optional field means unset. */
export type FieldType =
  | 'model' // a string of 1 to MODEL_NAME_LENGTH_MAX characters
  | 'objects' // an array of objects
  | 'flag' // a boolean
  | 'choices' // an integer, 1 to CHOICES_MAX
  | 'count' // an integer of at least 1
  | 'object';

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
  /** The gateway may ask for usage in a stream by `stream_options.include_usage`. */
  readonly streamUsageOption: boolean;
  readonly fields: readonly FieldRule[];
}

/** Choices in one answer (specification, Limits, rule 5). */
export const CHOICES_MAX = 4;

/** Fields that bound an answer's length: read on every endpoint, since any of them may reach a provider that obeys it. */
const OUTPUT_FIELDS: readonly FieldRule[] = [
  { name: 'n', type: 'choices', required: false },
  { name: 'best_of', type: 'count', required: false },
  { name: 'max_tokens', type: 'count', required: false },
  { name: 'max_completion_tokens', type: 'count', required: false },
  { name: 'max_output_tokens', type: 'count', required: false },
];

const CHAT_COMPLETIONS: EndpointRow = {
  path: '/v1/chat/completions',
  style: 'chat',
  billed: true,
  format: 'chat',
  kind: 'chat',
  streamUsageOption: true,
  fields: [
    { name: 'model', type: 'model', required: true },
    { name: 'messages', type: 'objects', required: true },
    { name: 'stream', type: 'flag', required: false },
    { name: 'stream_options', type: 'object', required: false },
    ...OUTPUT_FIELDS,
  ],
};

/** The served model-calling endpoints (all POST) by their raw path. */
export const ENDPOINT_TABLE: ReadonlyMap<string, EndpointRow> = new Map(
  [CHAT_COMPLETIONS].map((row) => [row.path, row]),
);
