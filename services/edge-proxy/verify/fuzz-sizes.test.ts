import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import {
  rate,
  STANDARD,
  worstCase,
  type BoundFigures,
  type CallBounds,
  type PriceFigures,
  type TokenUsage,
} from '@gateway/metering';
import fc from 'fast-check';
import { fakeResponse } from '../test/fake-answer.js';
import type { Delivery, RelayEvents } from '../src/call/relay/delivery.js';
import { PlainRelay } from '../src/call/relay/relay-plain.js';
import { StreamRelay } from '../src/call/relay/relay-stream.js';
import type { ResponseFormat } from '../src/formats/endpoints.js';
import { READERS } from '../src/formats/readers.js';
import { computeCharge, type Charge } from '../src/pricing/charge.js';
import { readCaseCount } from './random-cases.js';

/** Responses of the short run in every test run; `npm run verify:fuzz -- fuzz` sets more. */
const ANSWERS_DEFAULT = 25;
const ANSWERS = readCaseCount('GATEWAY_VERIFY_SIZES', ANSWERS_DEFAULT);
/** Most responses take 20 ms, and the machine may be busy. */
const MS_MAX = 60_000 + ANSWERS * 500;
const MIB = 1024 * 1024;
/** Sizes are 2^0 to 2^this, 1 byte to 64 MiB, uniformly distributed in the power. */
const SIZE_POWER_MAX = 26;
/** A larger value uses the first pattern of its kind, since the others take seconds to read. */
const DENSE_BYTES_MAX = 2 * MIB;
/** Text bytes per event. Some events exceed the limit for held events, some do not. */
const TEXT_BYTES = [1_000, 60_000, 200_000] as const;
/** Most chunks before the end. At the end every byte may be a chunk. */
const CHUNKS_MAX = 1_500;
const END_BYTES = 400;

const TRUTH = { input: 1_000, output: 100 };
const BOUNDS: CallBounds = { promptBytes: 3_000, arrayElements: 0, attachments: 0, outputTokensMax: 1_000 };
const FIGURES: BoundFigures = { bytesPerToken: 3, attachmentTokens: 1_000 };
const PRICE: PriceFigures = {
  inputPerMillion: 3_000_000_000n,
  cachedInputPerMillion: 300_000_000n,
  cacheWritePerMillion: null,
  cacheWrite1hPerMillion: null,
  outputPerMillion: 15_000_000_000n,
  perCall: 0n,
  tiers: [],
  extras: null,
};
const HOLD = worstCase(BOUNDS, FIGURES, PRICE);

type BilledFormat = Exclude<ResponseFormat, 'token_count'>;

/** The counts in a usage report. */
const REPORTS = {
  whole: { input: TRUTH.input, output: TRUTH.output, total: TRUTH.input + TRUTH.output },
  both: { input: TRUTH.input, output: TRUTH.output },
  early: { input: TRUTH.input, output: 1 },
  input: { input: TRUTH.input },
  output: { output: TRUTH.output },
  total: { total: TRUTH.input + TRUTH.output },
  inputTotal: { input: TRUTH.input, total: TRUTH.input + TRUTH.output },
  outputTotal: { output: TRUTH.output, total: TRUTH.input + TRUTH.output },
  empty: {},
  null: null,
  text: 'none',
  zero: { input: 0, output: 0 },
} as const;
type Report = keyof typeof REPORTS;
interface Counts {
  readonly input?: number;
  readonly output?: number;
  readonly total?: number;
}
const countsOf = (report: Report): Counts => {
  const counts: unknown = REPORTS[report];
  return typeof counts === 'object' && counts !== null ? counts : {};
};

const CHAT_NAMES = { input: 'prompt_tokens', output: 'completion_tokens', total: 'total_tokens' };
const OTHER_NAMES = { input: 'input_tokens', output: 'output_tokens', total: 'total_tokens' };
const NAMES: Record<BilledFormat, Required<Record<keyof Counts, string>>> = {
  chat: CHAT_NAMES,
  completion: CHAT_NAMES,
  embedding: CHAT_NAMES,
  message: OTHER_NAMES,
  response: OTHER_NAMES,
};

function usageOf(format: BilledFormat, report: Report): unknown {
  const value: unknown = REPORTS[report];
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value as Counts).map(([name, count]) => [NAMES[format][name as keyof Counts], count]);
  return Object.fromEntries(entries);
}

/** Returns the usage of the reports. A count is null if it is unknown and must be estimated. */
function expectedOf(format: BilledFormat, reports: readonly Report[]): { input: number | null; output: number | null } {
  const most = (values: readonly (number | undefined)[]): number | null => {
    const known = values.filter((value) => value !== undefined);
    return known.length === 0 ? null : Math.max(...known);
  };
  const derived = (counts: Counts): Counts => {
    const { input, output, total } = counts;
    if (total === undefined) return counts;
    if (output === undefined && input !== undefined) return { ...counts, output: total - input };
    return input === undefined && output !== undefined ? { ...counts, input: total - output } : counts;
  };
  const isEmbedding = format === 'embedding';
  const all = reports.map((each) => (isEmbedding ? countsOf(each) : derived(countsOf(each))));
  const total = most(all.map((each) => each.total));
  const input = most(all.map((each) => each.input));
  const output = most(all.map((each) => each.output));
  if (isEmbedding) return { input: input ?? total, output: (input ?? total) === null ? null : 0 };
  if (total === null) return { input, output };
  if (output === null && input !== null) return { input, output: total - input };
  return input === null && output !== null ? { input: total - output, output } : { input, output };
}

/** Placeholder for the large value, in the generated text or in another member. */
const PAD = '@pad@';

/** Parts of JSON strings and arrays that resemble other syntax. */
const STRINGS = ['x', 'é', '\\"usage\\":{\\"prompt_tokens\\":9}', '\\ud83d\\ude00\\\\', 'data: [DONE] ', '}],{['].map(
  (text) => Buffer.from(text),
);
const LISTS = ['null , ', '-0.123456,', '{"usage":{"prompt_tokens":9,"output_tokens":9}},', '"usage",[[]],'].map(
  (text) => Buffer.from(text),
);

function repeated(patterns: readonly Buffer[], kind: number, bytes: number): Buffer {
  const pattern = patterns[bytes > DENSE_BYTES_MAX ? 0 : kind % patterns.length] as Buffer;
  const count = Math.floor(bytes / pattern.length);
  return count === 0 ? Buffer.alloc(Math.max(1, bytes), '7') : Buffer.alloc(count * pattern.length, pattern);
}

interface Answer {
  readonly format: BilledFormat;
  readonly isStreamed: boolean;
  /** Approximate bytes of text or of another member. */
  readonly bytes: number;
  readonly isText: boolean;
  readonly filling: number;
  readonly textBytes: number;
  readonly reports: readonly Report[];
  /** Positions of the reports, and of the members of a body. */
  readonly places: readonly number[];
  readonly lineEnd: string;
  readonly hasMarker: boolean;
  readonly status: string;
  readonly cuts: readonly number[];
}

const large = (bytes: Buffer, isText: boolean): readonly Buffer[] =>
  isText ? [Buffer.from('"'), bytes, Buffer.from('"')] : [Buffer.from('['), bytes, Buffer.from('0]')];

/** Returns the JSON of the value, with the large value in place of {@link PAD}. */
function jsonWith(value: unknown, filler: readonly Buffer[]): Buffer[] {
  const [before = '', ...after] = JSON.stringify(value).split(`"${PAD}"`);
  return [Buffer.from(before), ...after.flatMap((text) => [...filler, Buffer.from(text)])];
}

/** Returns the members in the order of their positions. */
function ordered(members: readonly (readonly [string, unknown])[], places: readonly number[]): object {
  const placed = members.map((member, index) => ({ member, place: places[index] ?? 0 }));
  return Object.fromEntries(placed.sort((one, other) => one.place - other.place).map(({ member }) => member));
}

function plainOf(answer: Answer): Buffer[] {
  const { format, isText, bytes, filling, reports, places, status } = answer;
  const filler = large(repeated(isText ? STRINGS : LISTS, filling, bytes), isText);
  const text = isText ? PAD : 'Hello';
  const [first, second, third] = reports.map((report) => usageOf(format, report));
  const usage: [string, unknown][] = first === undefined ? [] : [['usage', first]];
  const pad: [string, unknown][] = isText ? [] : [['pad', PAD]];
  const inChoice = second === undefined ? {} : { usage: second };
  const own: [string, unknown][] = third === undefined ? [] : [['x_groq', { usage: third }]];
  const members: Record<BilledFormat, [string, unknown][]> = {
    chat: [
      ['choices', [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop', ...inChoice }]],
      ...own,
    ],
    completion: [['choices', [{ index: 0, text, finish_reason: 'stop', ...inChoice }]], ...own],
    message: [
      ['type', 'message'],
      ['content', status === 'refusal' ? [] : [{ type: 'text', text }]],
      ['stop_reason', status === 'refusal' ? 'refusal' : 'end_turn'],
    ],
    response: [
      ['object', 'response'],
      ['status', status],
      ['output', [{ type: 'message', content: [{ type: 'output_text', text }] }]],
    ],
    embedding: [['data', [{ object: 'embedding', index: 0, embedding: isText ? PAD : [1] }]]],
  };
  return jsonWith(ordered([...members[format], ...usage, ...pad], places), filler);
}

interface Event {
  readonly name?: string;
  readonly json: readonly Buffer[];
}

/** Returns events with text, then the last ones. A large value that is not text is in one event. */
function eventsOf(answer: Answer): Event[] {
  const { format, bytes, isText, filling, textBytes, status } = answer;
  const texts: Event[] = [];
  const event = (value: object, filler: readonly Buffer[] = []): Event => ({
    ...('type' in value && { name: String(value.type) }),
    json: jsonWith(value, filler),
  });
  const DELTAS: Record<BilledFormat, object> = {
    chat: { choices: [{ index: 0, delta: { content: PAD } }] },
    completion: { choices: [{ index: 0, text: PAD }] },
    message: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: PAD } },
    response: { type: 'response.output_text.delta', delta: PAD },
    embedding: {},
  };
  if (status !== 'refusal') {
    if (isText) {
      const perEvent = Math.max(textBytes, bytes / CHUNKS_MAX);
      for (let left = bytes; left > 0; left -= perEvent) {
        texts.push(event(DELTAS[format], large(repeated(STRINGS, filling, Math.min(left, perEvent)), true)));
      }
    } else texts.push(event(DELTAS[format], large(Buffer.from('Hello'), true)));
  }
  const pad = isText ? {} : { pad: PAD };
  const filler = isText ? [] : large(repeated(LISTS, filling, bytes), false);
  const usages = reportsByPlace(answer);
  const usage = (place: 0 | 1 | 2): object => (usages[place] === undefined ? {} : { usage: usages[place] });
  const middle = Math.floor(texts.length / 2);
  switch (format) {
    case 'message': {
      const stop_reason = status === 'refusal' ? 'refusal' : status === 'cut' ? null : 'end_turn';
      return [
        event({ type: 'message_start', message: { type: 'message', content: [], ...usage(0) } }),
        ...texts.slice(0, middle),
        event({ type: 'message_delta', delta: {}, ...usage(1) }),
        ...texts.slice(middle),
        event(
          ordered(
            Object.entries({ type: 'message_delta', delta: { stop_reason }, ...usage(2), ...pad }),
            answer.places,
          ),
          filler,
        ),
        ...(answer.hasMarker && status !== 'cut' ? [event({ type: 'message_stop' })] : []),
      ];
    }
    case 'response': {
      const response = { object: 'response', output: [], ...usage(2), ...pad };
      const last = ordered(Object.entries({ type: `response.${status}`, response }), answer.places);
      return [
        event({ type: 'response.created', response: { object: 'response', output: [], ...usage(0) } }),
        ...texts.slice(0, middle),
        event({ type: 'response.in_progress', response: { object: 'response', ...usage(1) } }),
        ...texts.slice(middle),
        ...(status === 'cut' ? [] : [event(last, filler)]),
      ];
    }
    default: {
      const choice = { index: 0, ...(format === 'chat' ? { delta: {} } : { text: '' }) };
      const choices = [{ ...choice, finish_reason: status === 'cut' ? null : 'stop' }];
      return [
        event({ choices: [choice], ...usage(0) }),
        ...texts.slice(0, middle),
        event({ choices: [choice], ...usage(1) }),
        ...texts.slice(middle),
        event(ordered(Object.entries({ choices, ...pad }), answer.places), filler),
        event({ choices: [], ...usage(2) }),
        ...(answer.hasMarker && status !== 'cut' ? [{ json: [Buffer.from('[DONE]')] }] : []),
      ];
    }
  }
}

/** Returns the ordered positions of the reports: before, between or after the texts. */
function placesOf({ reports, places }: Answer): number[] {
  const order = [0, 1, 2].sort((one, other) => (places[one] ?? 0) - (places[other] ?? 0));
  return order.slice(0, reports.length).sort();
}

function reportsByPlace(answer: Answer): unknown[] {
  const usages: unknown[] = [undefined, undefined, undefined];
  placesOf(answer).forEach((place, index) => {
    usages[place] = usageOf(answer.format, answer.reports[index] as Report);
  });
  return usages;
}

/** Whether text follows the last report of the output, which is then only a lower bound. */
function isRunning(answer: Answer): boolean {
  const after = placesOf(answer).indexOf(2);
  const { output, total } = after < 0 ? {} : countsOf(answer.reports[after] as Report);
  return answer.isStreamed && output === undefined && total === undefined;
}

function bytesOf(answer: Answer): Buffer {
  if (!answer.isStreamed) return Buffer.concat(plainOf(answer));
  const { lineEnd } = answer;
  const data = Buffer.from('data: ');
  const end = Buffer.from(lineEnd + lineEnd);
  return Buffer.concat(
    eventsOf(answer).flatMap(({ name, json }) => [
      ...(name === undefined ? [] : [Buffer.from(`event: ${name}${lineEnd}`)]),
      data,
      ...json,
      end,
    ]),
  );
}

/** Splits the bytes into a few hundred chunks, and into small ones at the end. */
function* chunksOf(bytes: Buffer, cuts: readonly number[]): Iterable<Buffer> {
  const bulk = Math.max(0, bytes.length - END_BYTES);
  let from = 0;
  for (let turn = 0; from < bytes.length; turn += 1) {
    const cut = cuts[turn % cuts.length] ?? 1;
    const size = from < bulk ? Math.max(cut, Math.ceil((bulk / CHUNKS_MAX) * (cut / 50))) : Math.ceil(cut / 8);
    const to = Math.min(from < bulk ? bulk : bytes.length, from + size);
    yield bytes.subarray(from, to);
    from = to;
  }
}

interface Received {
  /** Null if the client did not receive the whole response. */
  readonly delivery: Delivery | null;
  readonly charge: Charge;
  /** Whether the client received exactly the provider's bytes. */
  readonly isSame: boolean;
}

function receive(answer: Answer, bytes: Buffer): Received {
  let sent = 0;
  let isSame = true;
  const hear = (chunk: Buffer): boolean => {
    isSame &&= chunk.equals(bytes.subarray(sent, sent + chunk.length));
    sent += chunk.length;
    return true;
  };
  const deliveries: Delivery[] = [];
  let hasFailed = false;
  const fail = (): false => !(hasFailed = true);
  const events: RelayEvents = {
    begun: () => undefined,
    event: () => undefined,
    keptBack: () => undefined,
    firstToken: () => undefined,
    ended: (delivery) => void deliveries.push(delivery),
    incomplete: fail,
    providerFailed: fail,
    pause: () => undefined,
  };
  const parts = { answer: fakeResponse({ write: hear }), headers: [], reader: READERS[answer.format], events };
  const relay = answer.isStreamed
    ? new StreamRelay({ ...parts, metering: { dropUsageChunk: false, choices: 1 }, requestId: 'id' })
    : new PlainRelay({ ...parts, contentLength: null, counting: {}, sendsEarly: () => true });
  for (const chunk of chunksOf(bytes, answer.cuts)) if (!hasFailed) relay.data(chunk);
  if (!hasFailed) relay.end(false);
  const delivery = deliveries[0] ?? null;
  if (delivery?.lastPiece != null) hear(delivery.lastPiece);
  delivery?.over?.();
  if (hasFailed) relay.drop();
  const charge = computeCharge({
    ended: delivery?.ended ?? 'cut',
    meter: delivery?.meter ?? null,
    bounds: BOUNDS,
    figures: FIGURES,
    price: PRICE,
    hold: { worstNanoUsd: HOLD },
  });
  return { delivery: hasFailed ? null : delivery, charge, isSame: isSame && sent === bytes.length };
}

const STREAMED: readonly BilledFormat[] = ['chat', 'completion', 'message', 'response'];
const form = fc.oneof(
  fc.constantFrom(...STREAMED).map((format) => ({ format, isStreamed: true })),
  fc.constantFrom<BilledFormat>(...STREAMED, 'embedding').map((format) => ({ format, isStreamed: false })),
);
/** In hundredths. A bias would prefer the ends of the range, and so long responses. */
const anySize = fc.noBias(fc.nat(SIZE_POWER_MAX * 100)).map((power) => Math.floor(2 ** (power / 100)));
const topSize = fc.integer({ min: 56 * MIB, max: 64 * MIB });
const report = fc.constantFrom(...(Object.keys(REPORTS) as Report[]).filter((name) => name !== 'zero'));

const answerOf = (size: fc.Arbitrary<number>): fc.Arbitrary<Answer> =>
  fc
    .record({
      form,
      bytes: size,
      isText: fc.boolean(),
      filling: fc.nat(60),
      textBytes: fc.constantFrom(...TEXT_BYTES),
      reports: fc.array(report, { maxLength: 3 }),
      places: fc.array(fc.nat(100), { minLength: 6, maxLength: 6 }),
      lineEnd: fc.constantFrom('\n', '\r', '\r\n'),
      hasMarker: fc.boolean(),
      status: fc.constantFrom('completed', 'incomplete', 'cancelled'),
      cuts: fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 20 }),
    })
    .map(({ form: { format, isStreamed }, reports, ...rest }) => {
      const most = isStreamed || format === 'chat' || format === 'completion' ? 3 : 1;
      return { ...rest, format, isStreamed, reports: reports.slice(0, most) };
    });

function checkCharged(answer: Answer): void {
  const bytes = bytesOf(answer);
  const { delivery, charge, isSame } = receive(answer, bytes);
  const { evidence, usage, amountNanoUsd } = charge;
  const facts = `${bytes.length} bytes of ${JSON.stringify(answer)}`;
  if (delivery?.ended !== 'complete') throw new Error(`not received whole: ${facts}`);
  if (!isSame) throw new Error(`other bytes: ${facts}`);
  const { input, output } = expectedOf(answer.format, answer.reports);
  const isReported = input !== null && output !== null && !isRunning(answer);
  expect({ evidence, facts }).toEqual({ evidence: isReported ? 'reported' : 'estimated', facts });
  if (isReported) expect({ usage, facts }).toMatchObject({ usage: { input, output }, facts });
  const exact = isReported ? rate(usage as TokenUsage, PRICE, STANDARD) : amountNanoUsd;
  const reported = rate({ ...NO_TOKENS, input: input ?? 0, output: output ?? 0 }, PRICE, STANDARD);
  expect({ isRight: amountNanoUsd === exact, facts }).toEqual({ isRight: true, facts });
  expect({ isFree: amountNanoUsd <= 0n, facts }).toEqual({ isFree: false, facts });
  const most = reported > HOLD ? reported : HOLD;
  expect({ isBound: isReported || (amountNanoUsd >= reported && amountNanoUsd <= most), facts }).toEqual({
    isBound: true,
    facts,
  });
}
const NO_TOKENS: TokenUsage = { input: 0, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 };

test(
  `${ANSWERS} answers of 1 byte to 64 MiB cost their usage or an estimate`,
  () => {
    fc.assert(fc.property(answerOf(anySize), checkCharged), { numRuns: ANSWERS, endOnFailure: true });
    fc.assert(fc.property(answerOf(topSize), checkCharged), { numRuns: Math.ceil(ANSWERS / 40), endOnFailure: true });
  },
  MS_MAX,
);

const cutShort = (answer: Answer): Buffer => {
  const bytes = bytesOf(answer.isStreamed ? { ...answer, status: 'cut' } : answer);
  return answer.isStreamed ? bytes : bytes.subarray(0, bytes.length - 1);
};
/** Makes a complete response free, by the rows of the page that list the free cases. */
const FREE: Readonly<Record<string, (answer: Answer) => Buffer | null>> = {
  'was cut by the provider, the network or a crash': cutShort,
  'ended in an error inside its stream': (answer) =>
    answer.isStreamed
      ? Buffer.concat([cutShort(answer), Buffer.from('event: error\ndata: {"error":{"code":1}}\n\n')])
      : null,
  'had any final answer but 200': () => null,
  'on responses failed (`status: failed`)': (answer) =>
    answer.format === 'response' ? bytesOf({ ...answer, status: 'failed' }) : null,
  'on messages was refused before any output (`stop_reason: refusal`)': (answer) =>
    answer.format === 'message' ? bytesOf({ ...answer, isText: false, status: 'refusal' }) : null,
};

test('a response is free in the cases that the page lists, and in no other', () => {
  const page = readFileSync(new URL('../../../docs/behaviour.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| (was|had|on|ended) (.*?) +\| 0[ ;]/gm)].map(
    ([, verb, rest]) => `${verb} ${rest}`,
  );
  expect(Object.keys(FREE).sort()).toEqual(rows.sort());
  for (const [row, freeOf] of Object.entries(FREE)) {
    const check = (answer: Answer): void => {
      const bytes = freeOf(answer);
      if (bytes === null) return;
      const { charge } = receive(answer, bytes);
      expect({ row, answer, nanoUsd: charge.amountNanoUsd }).toEqual({ row, answer, nanoUsd: 0n });
    };
    const size = fc.integer({ min: 1, max: 2 * MIB });
    fc.assert(fc.property(answerOf(size), check), { numRuns: Math.ceil(ANSWERS / 2) });
  }
  // Complete failures and errors have no attempt with status 200.
  const failed = { ended: 'failed', meter: null, bounds: BOUNDS, figures: FIGURES, price: PRICE } as const;
  expect(computeCharge({ ...failed, hold: { worstNanoUsd: HOLD } }).amountNanoUsd).toBe(0n);
});

test('an explicit zero is charged as zero', () => {
  const free = (answer: Answer): void => {
    const { charge, delivery } = receive(answer, bytesOf(answer));
    expect([delivery?.ended, charge.evidence, charge.amountNanoUsd]).toEqual(['complete', 'reported', 0n]);
  };
  const last = { reports: ['zero'], places: [2, 1, 0] } as const;
  const zero = answerOf(fc.integer({ min: 1, max: MIB })).map((answer) => ({ ...answer, ...last }));
  fc.assert(fc.property(zero, free), { numRuns: ANSWERS });
});
