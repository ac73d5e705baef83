import { CHAT, MESSAGES } from './contract-call.js';

/** One request of the specification's table, and values that break its rules. */
export interface RequestRow {
  /** As the specification's table calls it. */
  readonly request: string;
  readonly path: string;
  /** Values that each required field must not have; it must not be missing or null either. */
  readonly required: Readonly<Record<string, readonly unknown[]>>;
  /** Values that each optional field must not have. */
  readonly wrong: Readonly<Record<string, readonly unknown[]>>;
  /** Optional fields as they may be: they reach the provider unchanged. */
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

/** Every endpoint would take it. */
export const WHOLE = '{"model":"M","max_tokens":5,"input":"x","messages":[{"role":"user","content":"x"}]}';

/** Bodies and content types that are no JSON request at all; `M` stands for the model. */
export const NO_JSON: readonly (readonly [string, Readonly<Record<string, string>>, string | Buffer])[] = [
  ['no Content-Type', { 'content-type': '' }, WHOLE],
  ['another Content-Type', { 'content-type': 'text/plain' }, WHOLE],
  ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 'model=M'],
  ['no JSON', {}, '{"model":'],
  ['an empty body', {}, ''],
  ['an array', {}, '[]'],
  ['a string', {}, '"M"'],
  ['a byte order mark', {}, `\uFEFF${WHOLE}`],
  ['bytes that are no UTF-8', {}, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ['a name that occurs twice', {}, WHOLE.replace('}]', String.raw`}],"mod\u0065l":"M"`)],
  ['a compressed body', { 'content-encoding': 'gzip' }, WHOLE],
];
