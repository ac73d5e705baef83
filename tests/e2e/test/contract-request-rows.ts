import { CHAT, MESSAGES } from './contract-call.js';

/** One request of the specification's table, with values that break its rules. */
export interface RequestRow {
  /** Name in the specification's table. */
  readonly request: string;
  readonly path: string;
  /** Invalid values of each required field. It must not be missing or null either. */
  readonly required: Readonly<Record<string, readonly unknown[]>>;
  /** Invalid values of each optional field. */
  readonly wrong: Readonly<Record<string, readonly unknown[]>>;
  /** Valid optional fields, which reach the provider unchanged. */
  readonly right: Readonly<Record<string, unknown>>;
}

const NO_TEXT = [1, true, {}] as const;
const NO_OBJECTS = ['x', 1, {}, ['x'], [{}, null]] as const;
const NO_COUNT = [-1, 1.5, '5', true, []] as const;
const NO_FLAG = ['true', 1, {}] as const;
const NO_MODEL = [1, '', [], {}, true] as const;
const TOOLS = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];

export const REQUESTS: readonly RequestRow[] = [
  {
    request: 'Chat completion',
    path: CHAT,
    required: { model: NO_MODEL, messages: NO_OBJECTS },
    wrong: { stream: NO_FLAG, max_tokens: NO_COUNT, n: [0, 5, -1, 1.5, '2', true], stream_options: [1, 'x', []] },
    right: {
      stream: false,
      max_tokens: 5,
      temperature: 0.25,
      tools: TOOLS,
      tool_choice: 'auto',
      response_format: { type: 'json_object' },
      stream_options: null,
      n: 4,
      vendor_field: { deep: [1, { x: null }] },
    },
  },
  {
    request: 'Legacy completion',
    path: '/v1/completions',
    required: { model: NO_MODEL, prompt: NO_TEXT },
    wrong: { max_tokens: NO_COUNT, stream: NO_FLAG },
    right: { max_tokens: 5, stream: false, vendor_field: 1 },
  },
  {
    request: 'Messages',
    path: MESSAGES,
    required: { model: NO_MODEL, max_tokens: NO_COUNT, messages: NO_OBJECTS },
    wrong: { stream: NO_FLAG },
    right: {
      system: [{ type: 'text', text: 'short' }],
      stream: false,
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
      vendor_field: 1,
    },
  },
  {
    request: 'Embeddings',
    path: '/v1/embeddings',
    required: { model: NO_MODEL, input: NO_TEXT },
    wrong: {},
    right: { vendor_field: 1 },
  },
  {
    request: 'Responses',
    path: '/v1/responses',
    required: { model: NO_MODEL, input: NO_TEXT },
    wrong: { stream: NO_FLAG, background: [true] },
    right: { stream: false, vendor_field: 1 },
  },
];

/** A body that every endpoint accepts. */
export const WHOLE = '{"model":"M","max_tokens":5,"input":"x","messages":[{"role":"user","content":"x"}]}';

/** Bodies and content types that are not valid JSON requests. `M` is replaced by the model. */
export const NO_JSON: readonly (readonly [string, Readonly<Record<string, string>>, string | Buffer])[] = [
  ['no Content-Type', { 'content-type': '' }, WHOLE],
  ['another Content-Type', { 'content-type': 'text/plain' }, WHOLE],
  ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 'model=M'],
  ['incomplete JSON', {}, '{"model":'],
  ['an empty body', {}, ''],
  ['an array', {}, '[]'],
  ['a string', {}, '"M"'],
  ['a byte order mark', {}, `\uFEFF${WHOLE}`],
  ['invalid UTF-8', {}, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ['a name that occurs twice', {}, WHOLE.replace('}]', String.raw`}],"mod\u0065l":"M"`)],
  ['a compressed body', { 'content-encoding': 'gzip' }, WHOLE],
];
