import { describe, expect, test } from '@jest/globals';
import { toPriceFigures } from '@gateway/contracts/messages';
import { PRICE_CLASSES, type ProviderProfile } from '@gateway/contracts/operator';
import { PRICE_WITH_EXTRAS } from '../../test/pricing-rules.js';
import { recordedShapes, type RecordedResponse } from '../../test/recorded-shapes.js';
import { readPricing, type PriceReading } from '../pricing/requested-extras.js';
import { ENDPOINT_TABLE } from '../formats/endpoints.js';
import { EventSplitter } from '../formats/event-stream.js';
import { withReason, type MeterResult, type ProviderFailure } from '../formats/meter.js';
import { READERS } from '../formats/readers.js';
import { parseCall } from '../parse/parse-call.js';
import { withClassHeaders } from '../pricing/price-facts.js';
import { computeBilledExtras } from '../pricing/served.js';
import {
  COOL_DOWN_DEFAULT_MS,
  COOL_DOWN_MS_MAX,
  judgeAttempt,
  type AttemptResult,
  type AttemptJudgment,
} from './judge-attempt.js';
import { readHeaderWaitMs } from './retry-after.js';

const NOW = Date.UTC(2026, 10, 20);

/** The meter's result for a response with status 200, and the failure that it reports, if any. */
function read({ endpoint, text, isStream }: RecordedResponse, profile: ProviderProfile) {
  const row = ENDPOINT_TABLE.get(endpoint);
  if (row === undefined) throw new Error(endpoint);
  const reader = READERS[row.format];
  if (!isStream) {
    const result = reader.readPlain(Buffer.from(text), profile);
    return { result, failure: result.failure ?? null };
  }
  const splitter = new EventSplitter();
  const meter = reader.streamMeter({ dropUsageChunk: false, choices: 1, ...profile });
  let failure: ProviderFailure | null = null;
  const events = [...splitter.push(Buffer.from(text)), splitter.end()];
  for (const event of events) {
    if (event === null || (failure !== null && failure.isUnexplained !== true)) continue;
    const next = meter.read(event).failure;
    failure = failure === null ? next : withReason(failure, next);
  }
  return { result: meter.result(), failure };
}

function judged(shape: RecordedResponse, profile: ProviderProfile): AttemptJudgment {
  const row = ENDPOINT_TABLE.get(shape.endpoint);
  if (row === undefined) throw new Error(shape.endpoint);
  const { failure } = shape.status === 200 ? read(shape, profile) : { failure: null };
  const header = (name: string): string | undefined =>
    Object.entries(shape.headers).find(([known]) => known.toLowerCase() === name)?.[1];
  const result: AttemptResult =
    failure === null
      ? {
          kind: 'answered',
          status: shape.status,
          waitMs: readHeaderWaitMs(header, NOW),
          contentType: header('content-type') ?? 'application/json',
          contentEncoding: undefined,
          errorType: header('x-amzn-errortype'),
          bodyStart: Buffer.from(shape.text),
        }
      : { kind: 'provider_error', reported: failure.reported, waitMs: readHeaderWaitMs(header, NOW) };
  const facts = { style: row.style, streamed: shape.isStream, upstreamModel: 'up' };
  return judgeAttempt(result, { ...facts, errorRules: profile.errors });
}

/** Cooldown in whole seconds for the provider's wait, within the bounds. */
function restOf({ expected: { retryAfterMs } }: RecordedResponse): number {
  if (retryAfterMs == null) return COOL_DOWN_DEFAULT_MS;
  return Math.min(COOL_DOWN_MS_MAX, Math.ceil(retryAfterMs / 1_000) * 1_000);
}

function tokensOf({ usage }: MeterResult): Record<string, number> | null {
  if (usage === null) return null;
  const { input, cachedInput, cacheWrite, cacheWrite1h, output } = usage;
  return { input: input - cachedInput - cacheWrite - cacheWrite1h, cachedInput, cacheWrite, cacheWrite1h, output };
}

/** Extras in which every class has a price. */
const { extras } = toPriceFigures(PRICE_WITH_EXTRAS);
const EXTRAS = extras && { ...extras, classes: { ...extras.classes, fast: extras.classes.flex } };

const PROMPTS = { messages: [], input: 'x', prompt: 'x', max_tokens: 9 };

/** Reads the request of a shape by the source's rules. */
function readingOf(
  { endpoint, request, requestHeaders }: RecordedResponse,
  { pricing }: ProviderProfile,
): PriceReading {
  const row = ENDPOINT_TABLE.get(endpoint);
  if (row === undefined) throw new Error(endpoint);
  const body = Buffer.from(JSON.stringify({ model: 'a/b', ...PROMPTS, ...request }));
  const parsed = parseCall(row, { contentType: 'application/json', contentEncoding: undefined }, body);
  if (!parsed.ok) throw new Error(parsed.finding.message);
  return readPricing(withClassHeaders(parsed.call.priceFacts, requestHeaders), pricing);
}

const COUNTS = ['input', 'cachedInput', 'cacheWrite', 'cacheWrite1h', 'output'] as const;

describe.each(recordedShapes().map(([profile, shapes]) => [profile.id, profile, shapes] as const))(
  '%s',
  (_id, profile, shapes) => {
    const errors = shapes.filter(({ expected }) => typeof expected.errorClass === 'string');
    const answers = shapes.filter(({ expected }) => typeof expected.output === 'number');

    for (const shape of errors) {
      test(`error: ${shape.name}`, () => {
        const { errorClass, coolDownMs } = judged(shape, profile);
        expect(errorClass).toBe(shape.expected.errorClass);
        if (errorClass === 'quota') expect(coolDownMs).toBe(restOf(shape));
      });
    }

    for (const shape of shapes.filter(({ expected }) => expected.unusable === true)) {
      test(`no answer: ${shape.name}`, () => {
        const { result, failure } = read(shape, profile);
        expect([result.finished, failure]).toEqual([false, null]);
      });
    }

    for (const shape of answers) {
      test(`tokens: ${shape.name}`, () => {
        const { expected } = shape;
        const wanted = Object.fromEntries(COUNTS.map((name) => [name, expected[name] ?? 0]));
        expect(tokensOf(read(shape, profile).result)).toEqual(wanted);
      });
    }

    for (const shape of answers) {
      const reading = readingOf(shape, profile);
      // A request that cannot be priced is not sent. A class that only the provider has is not one
      // of the gateway's.
      if (reading.kind === 'unpriced' || !PRICE_CLASSES.some((name) => name === shape.expected.class)) continue;
      test(`class: ${shape.name}`, () => {
        const { reported = null } = read(shape, profile).result;
        expect(computeBilledExtras(profile.pricing, { ...reading, models: [] }, reported, EXTRAS).served.class).toBe(
          shape.expected.class,
        );
      });
    }

    test('every shape says where and when it was seen', () => {
      for (const { name, source, date } of shapes) expect([name, source, date]).not.toContain('undefined');
    });
  },
);
