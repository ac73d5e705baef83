// Computes charges a second time with separate arithmetic, from prices typed from public sources.
// Does not use the bundled list or libs/metering.
import { chatAnswer, embeddingAnswer, messageAnswer, responseAnswer } from './scripted-provider.js';
import { searchItem, textBlock, textItem } from './scripted-provider.js';
import type { OutputItem, ScriptedAnswer } from './scripted-provider.js';

/** USD per million tokens, in the order of {@link Tokens}. Null: the provider has no such price. */
type Rates = readonly [
  input: string,
  cached: string | null,
  write: string | null,
  write1h: string | null,
  output: string | null,
];

/** Tokens of a request, each counted once. */
export interface Tokens {
  readonly plain?: number;
  readonly cached?: number;
  readonly write?: number;
  readonly write1h?: number;
  readonly output?: number;
  /** Not included in `plain` or another count. */
  readonly audio?: number;
}

interface PublicPrice {
  /** `<profile> <model>` of `providers add`. */
  readonly of: string;
  readonly rates: Rates;
  readonly audio?: string;
  /**
   * Rates of the complete request above this number of input tokens, which includes cached tokens
   * and cache writes.
   */
  readonly above?: readonly [tokens: number, rates: Rates];
  /** Prices by class, which is a value of `service_tier` or `speed`. */
  readonly classes?: Readonly<Record<string, { readonly rates: Rates; readonly above?: Rates }>>;
  /** USD per 1,000 searches. */
  readonly searches?: string;
  readonly source: string;
}

const none = null;
export const PUBLIC_PRICES: readonly PublicPrice[] = [
  {
    of: 'openai gpt-6-astra',
    rates: ['10', '1', '12.5', none, '50'],
    above: [272_000, ['20', '2', '25', none, '75']],
    classes: { priority: { rates: ['20', '2', '25', none, '100'], above: ['40', '4', '50', none, '150'] } },
    searches: '10',
    source: 'developers.openai.com model page; openai.com/API-fast-mode, 2026-09',
  },
  {
    of: 'openai gpt-6.1-sol',
    rates: ['2', '0.10', '2.5', none, '10'],
    above: [272_000, ['4', '0.20', '5', none, '15']],
    classes: {
      priority: { rates: ['4', '0.20', '5', none, '20'], above: ['8', '0.40', '10', none, '30'] },
      flex: { rates: ['1', '0.05', '1.25', none, '5'] },
    },
    searches: '10',
    source: 'PromptFuel v1.0.22; openai.com/API-fast-mode, 2026-10',
  },
  {
    of: 'openai gpt-5.5',
    rates: ['5', '0.5', none, none, '30'],
    classes: { priority: { rates: ['12.5', '1.25', none, none, '75'] } },
    source: 'openai.com/api/pricing, 2026-05',
  },
  {
    of: 'openai gpt-5.4-mini',
    rates: ['0.75', '0.075', none, none, '4.5'],
    searches: '10',
    source: 'openai.com, 2026-06',
  },
  { of: 'openai gpt-4o-mini', rates: ['0.15', '0.075', none, none, '0.60'], source: 'openai.com, 2026-06' },
  { of: 'openai text-embedding-3-small', rates: ['0.02', none, none, none, none], source: 'openai.com, 2026-06' },
  { of: 'openai text-embedding-3-large', rates: ['0.13', none, none, none, none], source: 'openai.com, 2026-06' },
  {
    of: 'anthropic claude-fable-5-1',
    rates: ['10', '0.25', '12.5', '20', '50'],
    searches: '10',
    source: 'platform.claude.com/docs/en/about-claude/pricing, 2026-09',
  },
  {
    of: 'anthropic claude-opus-5-5',
    rates: ['4', '0.20', '5', '8', '20'],
    classes: { fast: { rates: ['8', '0.40', '10', '16', '40'] } },
    searches: '10',
    source: 'platform.claude.com pricing and fast mode, 2026-10',
  },
  {
    of: 'anthropic claude-sonnet-5-5',
    rates: ['2', '0.10', '2.5', '4', '10'],
    searches: '10',
    source: 'claudit v1.9.2, 2026-10-24',
  },
  {
    of: 'anthropic claude-haiku-5-5',
    rates: ['0.10', '0.01', '0.125', '0.20', '0.50'],
    above: [100_000, ['0.50', '0.05', '0.625', '1', '2.5']],
    searches: '10',
    source: 'claudit v1.9.2, 2026-10-24',
  },
  {
    of: 'anthropic claude-haiku-4-5',
    rates: ['1', '0.10', '1.25', '2', '5'],
    source: 'platform.claude.com pricing, 2026-06',
  },
  {
    of: 'gemini gemini-3.8-flash',
    rates: ['0.75', '0.075', none, none, '3.75'],
    source: 'ai.google.dev pricing, to 2026-12-31',
  },
  {
    of: 'gemini gemini-2.5-flash',
    rates: ['0.30', '0.03', none, none, '2.5'],
    audio: '1',
    source: 'ai.google.dev pricing, 2026-06',
  },
  {
    of: 'gemini gemini-3.1-pro-preview',
    rates: ['2', '0.20', none, none, '12'],
    above: [200_000, ['4', '0.40', none, none, '18']],
    source: 'ai.google.dev pricing, 2026-02',
  },
  {
    of: 'xai grok-4.7',
    rates: ['2', '0.5', none, none, '6'],
    above: [200_000, ['4', '1', none, none, '12']],
    source: 'docs.x.ai/developers/pricing, 2026-09',
  },
  {
    of: 'deepseek deepseek-flash',
    rates: ['0.30', '0.006', none, none, '1.20'],
    source: 'api-docs.deepseek.com pricing at peak, 2026-09-10',
  },
  {
    of: 'mistral mistral-large-4',
    rates: ['0.68', '0.07', none, none, '2.09'],
    source: 'docs.mistral.ai preview price, 2026-10-06',
  },
  { of: 'moonshot kimi-k3', rates: ['3', '0.3', none, none, '15'], source: 'platform.kimi.ai pricing, 2026-07-17' },
  {
    of: 'groq openai/gpt-oss-120b',
    rates: ['0.15', '0.075', none, none, '0.60'],
    source: 'groq.com pricing, 2026-05-27',
  },
];

/** One request with its expected charge. */
export interface ChargeCase {
  readonly title: string;
  readonly price: PublicPrice;
  readonly path: string;
  readonly request: object;
  readonly answer: ScriptedAnswer;
  readonly nanoUsd: bigint;
}

/** The format that a provider reports tokens in, and its endpoint. */
interface Form {
  readonly name: string;
  readonly path: string;
  readonly answer: (tokens: Tokens, extra: Extra) => ScriptedAnswer;
}

interface Extra {
  /** Fields that report the served class. */
  readonly served?: object;
  readonly searches?: number;
}

const sum = ({ plain = 0, cached = 0, write = 0, write1h = 0, audio = 0 }: Tokens): number =>
  plain + cached + write + write1h + audio;

/**
 * Makes a chat form. Input counts everything. `place` is where reasoning tokens of the output are
 * reported.
 */
function chatForm(name: string, place: 'inside' | 'beside' | 'in the total' | 'alone', cachedName?: string): Form {
  return {
    name,
    path: '/v1/chat/completions',
    answer: (tokens, { served }) => {
      const { cached = 0, write = 0, audio = 0, output = 0 } = tokens;
      const reasoning = place === 'alone' ? output : Math.floor(output / 2);
      const told = place === 'inside' ? output : output - reasoning;
      const details = { cached_tokens: cached, cache_write_tokens: write, audio_tokens: audio };
      const counted = cachedName === undefined ? { prompt_tokens_details: details } : { [cachedName]: cached };
      const usage = {
        prompt_tokens: sum(tokens),
        ...(place === 'alone' ? {} : { completion_tokens: told }),
        total_tokens: sum(tokens) + output,
        ...counted,
        ...(place === 'in the total' ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
      };
      return chatAnswer(usage, served);
    },
  };
}

const RESPONSES: Form = {
  name: 'responses',
  path: '/v1/responses',
  answer: (tokens, { served, searches = 0 }) => {
    const { cached = 0, write = 0, output = 0 } = tokens;
    const usage = {
      input_tokens: sum(tokens),
      input_tokens_details: { cached_tokens: cached, cache_write_tokens: write },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: Math.floor(output / 3) },
      total_tokens: sum(tokens) + output,
    };
    const items: OutputItem[] = Array.from({ length: searches }, (_, at) => searchItem(`ws_${at}`, 'search'));
    if (searches > 0) items.push(searchItem('ws_o', 'open_page'), searchItem('ws_f', 'find_in_page'));
    return responseAnswer([...items, textItem('msg_1', 'Hi.')], usage, served);
  },
};

const MESSAGES: Form = {
  name: 'messages',
  path: '/v1/messages',
  answer: ({ plain = 0, cached = 0, write = 0, write1h = 0, output = 0 }, { served, searches = 0 }) =>
    messageAnswer([textBlock('Hi.')], {
      input_tokens: plain,
      cache_read_input_tokens: cached,
      cache_creation_input_tokens: write + write1h,
      cache_creation: { ephemeral_5m_input_tokens: write, ephemeral_1h_input_tokens: write1h },
      output_tokens: output,
      ...(searches === 0 ? {} : { server_tool_use: { web_search_requests: searches } }),
      ...served,
    }),
};

const EMBEDDINGS: Form = {
  name: 'embeddings',
  path: '/v1/embeddings',
  answer: (tokens) => embeddingAnswer({ prompt_tokens: sum(tokens), total_tokens: sum(tokens) }),
};

const CHAT = chatForm('chat', 'inside');
/**
 * Models with their forms and tokens. Each case runs plain and, except for embeddings, streamed.
 */
const ROWS: readonly [of: string, forms: readonly Form[], tokens: readonly Tokens[]][] = [
  [
    'openai gpt-6-astra',
    [CHAT, RESPONSES],
    [
      { plain: 1_234, cached: 5_000, write: 777, output: 89 },
      { plain: 272_000, output: 1 },
      { plain: 2_001, cached: 270_000, output: 333 },
    ],
  ],
  [
    'openai gpt-6.1-sol',
    [CHAT, RESPONSES],
    [
      { plain: 3, output: 7 },
      { plain: 260_001, write: 12_000, output: 10 },
    ],
  ],
  ['openai gpt-5.5', [CHAT], [{ plain: 1, cached: 1, output: 1 }]],
  [
    'openai gpt-4o-mini',
    [CHAT],
    [
      { plain: 999, cached: 128, output: 17 },
      { plain: 1, output: 0 },
    ],
  ],
  ['openai text-embedding-3-small', [EMBEDDINGS], [{ plain: 7 }, { plain: 123_457 }]],
  ['openai text-embedding-3-large', [EMBEDDINGS], [{ plain: 1 }, { plain: 98_765 }]],
  ['anthropic claude-fable-5-1', [MESSAGES], [{ plain: 11, cached: 120_003, write: 17, write1h: 4_001, output: 523 }]],
  [
    'anthropic claude-opus-5-5',
    [MESSAGES],
    [
      { plain: 3, output: 1 },
      { plain: 400, cached: 90_000, write: 1_200, write1h: 800, output: 64 },
    ],
  ],
  ['anthropic claude-sonnet-5-5', [MESSAGES], [{ plain: 21, cached: 33_333, write1h: 10_000, output: 900 }]],
  [
    'anthropic claude-haiku-5-5',
    [MESSAGES],
    [
      { plain: 1_000, cached: 99_000, output: 5 },
      { plain: 1_001, cached: 99_000, output: 5 },
      { plain: 50_000, write: 50_001, write1h: 3, output: 77 },
    ],
  ],
  ['anthropic claude-haiku-4-5', [MESSAGES], [{ plain: 5_000, write: 5_000, output: 1_000 }]],
  [
    'gemini gemini-3.8-flash',
    [CHAT, chatForm('chat, reasoning in the total', 'in the total'), chatForm('chat, reasoning alone', 'alone')],
    [{ plain: 7_180, cached: 2_048, output: 60_000 }],
  ],
  ['gemini gemini-2.5-flash', [CHAT], [{ plain: 100, audio: 1_500, output: 40 }]],
  [
    'gemini gemini-3.1-pro-preview',
    [CHAT],
    [
      { plain: 200_000, output: 9 },
      { plain: 150_000, cached: 50_001, output: 9 },
    ],
  ],
  [
    'xai grok-4.7',
    [chatForm('chat, reasoning beside', 'beside'), RESPONSES],
    [
      { plain: 4_000, cached: 1_000, output: 301 },
      { plain: 150_000, cached: 60_000, output: 2 },
    ],
  ],
  [
    'deepseek deepseek-flash',
    [chatForm('chat, cache hits', 'inside', 'prompt_cache_hit_tokens')],
    [{ plain: 1_111, cached: 64_000, output: 2_222 }],
  ],
  [
    'mistral mistral-large-4',
    [CHAT],
    [
      { plain: 12_345, cached: 678, output: 910 },
      { plain: 2, output: 1 },
    ],
  ],
  [
    'moonshot kimi-k3',
    [CHAT],
    [
      { plain: 31, cached: 250_000, output: 15 },
      { plain: 17, output: 3 },
    ],
  ],
  [
    'groq openai/gpt-oss-120b',
    [CHAT],
    [
      { plain: 2_049, cached: 1_024, output: 513 },
      { plain: 5, output: 6 },
    ],
  ],
];

/** Classes and searches: the requested fields and the reported ones. */
const EXTRAS: readonly [of: string, form: Form, tokens: Tokens, asked: object, extra: Extra, cls: string | null][] = [
  [
    'openai gpt-6-astra',
    CHAT,
    { plain: 300_000, output: 1_000 },
    { service_tier: 'priority' },
    { served: { service_tier: 'priority' } },
    'priority',
  ],
  [
    'openai gpt-6-astra',
    RESPONSES,
    { plain: 50_000, write: 100, output: 10 },
    { service_tier: 'priority' },
    { served: { service_tier: 'priority' } },
    'priority',
  ],
  [
    'openai gpt-6.1-sol',
    RESPONSES,
    { plain: 200_000, write: 100_000, output: 1 },
    { service_tier: 'priority' },
    { served: { service_tier: 'priority' } },
    'priority',
  ],
  [
    'openai gpt-6.1-sol',
    CHAT,
    { plain: 900, cached: 100, write: 10, output: 80 },
    { service_tier: 'flex' },
    { served: { service_tier: 'flex' } },
    'flex',
  ],
  [
    'openai gpt-6.1-sol',
    CHAT,
    { plain: 900, output: 80 },
    { service_tier: 'priority' },
    { served: { service_tier: 'default' } },
    null,
  ],
  [
    'openai gpt-5.5',
    CHAT,
    { plain: 600, cached: 60, output: 6 },
    { service_tier: 'priority' },
    { served: { service_tier: 'priority' } },
    'priority',
  ],
  [
    'openai gpt-5.4-mini',
    RESPONSES,
    { plain: 900, output: 80 },
    { tools: [{ type: 'web_search' }] },
    { searches: 3 },
    null,
  ],
  [
    'openai gpt-6.1-sol',
    RESPONSES,
    { plain: 9, output: 8 },
    { tools: [{ type: 'web_search' }, { type: 'custom', name: 'x' }] },
    { searches: 1 },
    null,
  ],
  [
    'anthropic claude-opus-5-5',
    MESSAGES,
    { plain: 50, cached: 5_000, write: 60, write1h: 100_000, output: 70 },
    { speed: 'fast' },
    { served: { speed: 'fast' } },
    'fast',
  ],
  [
    'anthropic claude-sonnet-5-5',
    MESSAGES,
    { plain: 50, output: 70 },
    { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }] },
    { searches: 2 },
    null,
  ],
];

export const CHARGE_CASES: readonly ChargeCase[] = [
  ...ROWS.flatMap(([of, forms, all]) =>
    forms.flatMap((form) => all.flatMap((tokens) => casesOf(of, form, tokens, {}, {}, null))),
  ),
  ...EXTRAS.flatMap((row) => casesOf(...row)),
];

/** Returns a plain and a streamed case. */
function casesOf(
  of: string,
  form: Form,
  tokens: Tokens,
  asked: object,
  extra: Extra,
  cls: string | null,
): ChargeCase[] {
  const price = PUBLIC_PRICES.find((one) => one.of === of);
  if (price === undefined) throw new Error(`no public price for ${of}`);
  const one = { price, path: form.path, answer: form.answer(tokens, extra) };
  const nanoUsd = computeNanoUsd(price, tokens, cls, extra.searches ?? 0);
  const title = [of, form.name, cls ?? 'standard', JSON.stringify(tokens)].join(', ');
  if (form === EMBEDDINGS) return [{ ...one, title, request: asked, nanoUsd }];
  return [false, true].map((stream) => ({
    ...one,
    title: `${title}, ${stream ? 'streamed' : 'plain'}`,
    request: { ...asked, stream },
    nanoUsd,
  }));
}

/** Computes nano-USD, rounded once, half up. */
function computeNanoUsd(price: PublicPrice, tokens: Tokens, cls: string | null, searches: number): bigint {
  const ofClass = cls === null ? { rates: price.rates, above: price.above?.[1] } : price.classes?.[cls];
  const isAbove = price.above !== undefined && sum(tokens) > price.above[0];
  const rates = isAbove ? ofClass?.above : ofClass?.rates;
  if (rates === undefined) throw new Error(`no public price for ${price.of} in class ${cls}`);
  const counts = [tokens.plain, tokens.cached, tokens.write, tokens.write1h, tokens.output];
  let picoUsd = 0n;
  for (const [at, count = 0] of counts.entries()) {
    const rate = rates[at];
    if (count > 0 && rate == null) throw new Error(`no public price ${at} for ${price.of}`);
    if (rate != null) picoUsd += BigInt(count) * scaled(rate);
  }
  picoUsd += BigInt(tokens.audio ?? 0) * scaled(price.audio ?? '0');
  picoUsd += BigInt(searches) * scaled(price.searches ?? '0') * 1_000n;
  return (picoUsd + 500n) / 1_000n;
}

/** Converts USD per million tokens to pico-USD per token, with six decimals. */
function scaled(usd: string): bigint {
  const [whole = '', behind = ''] = usd.split('.');
  return BigInt(whole + behind.padEnd(6, '0'));
}
