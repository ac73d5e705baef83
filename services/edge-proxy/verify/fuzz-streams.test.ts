import { expect, test } from '@jest/globals';
import { gatewayError } from '@gateway/contracts/errors';
import {
  rate,
  worstCase,
  type BoundFigures,
  type CallBounds,
  type PriceFigures,
  type TokenUsage,
} from '@gateway/metering';
import { SeededRandom } from '@gateway/testkit/random';
import { testSeed } from '@gateway/testkit/seed';
import { fakeResponse } from '../test/fake-answer.js';
import type { Delivery } from '../src/call/relay/delivery.js';
import { StreamRelay } from '../src/call/relay/relay-stream.js';
import { computeCharge } from '../src/pricing/charge.js';
import { READERS } from '../src/formats/readers.js';
import type { MeterResult } from '../src/formats/meter.js';
import { TOKENS_MAX } from '../src/formats/read-usage.js';
import { hostilePlain, makeHostileStream, type HostileStream } from './hostile-streams.js';
import { printFigures, readCaseCount } from './random-cases.js';

/** Streams of the short run in every test run; `npm run verify:fuzz -- fuzz` sets more. */
const STREAMS_DEFAULT = 4_000;
const HOUR_MS = 3_600_000;
/** Number of streams between two checks of the memory. */
const MEMORY_EVERY = 5_000;
/** Most growth of the resident memory over the whole run, garbage included. */
const GROWTH_BYTES_MAX = 400 * 2 ** 20;
const ID = '01890000-0000-7000-8000-000000000000';
/**
 * Most bytes of text per byte of the stream. Normally text is shorter than its event, but an
 * invalid byte is decoded as a character of three bytes.
 */
const TEXT_BYTES_PER_BYTE_MAX = 3;

const streams = readCaseCount('GATEWAY_VERIFY_HOSTILE_STREAMS', STREAMS_DEFAULT);
const seed = testSeed();

const BOUNDS: CallBounds = { promptBytes: 300, arrayElements: 0, attachments: 0, outputTokensMax: 1_000 };
const FIGURES: BoundFigures = { bytesPerToken: 3, attachmentTokens: 1_000 };
const PRICE: PriceFigures = {
  inputPerMillion: 1_000_000_000n,
  cachedInputPerMillion: 100_000_000n,
  cacheWritePerMillion: null,
  cacheWrite1hPerMillion: null,
  outputPerMillion: 2_000_000_000n,
  perCall: 7n,
  tiers: [
    {
      aboveInputTokens: 200_000,
      inputPerMillion: 2n,
      cachedInputPerMillion: null,
      cacheWritePerMillion: null,
      cacheWrite1hPerMillion: null,
      outputPerMillion: 3n,
    },
  ],
  extras: null,
};
/** The usage that the gateway sends to a client if the provider sent none. */
const USAGE: TokenUsage = { input: 3, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 5 };
const HOLD = worstCase(BOUNDS, FIGURES, PRICE);

test(
  `${streams} hostile streams cause no fault and no wrong bytes or charges (seed ${seed})`,
  () => {
    const random = new SeededRandom(seed);
    const figures = { seed, streams, bytes: 0, chunks: 0, plain: 0 };
    const endings: Record<string, number> = {};
    const rssAtStart = process.memoryUsage.rss();
    let rssMost = rssAtStart;
    for (let number = 0; number < streams; number += 1) {
      const isPlain = random.chance(0.2);
      const ending = isPlain ? playPlain(random, number) : playStream(makeHostileStream(random), number, figures);
      endings[ending] = (endings[ending] ?? 0) + 1;
      if (isPlain) figures.plain += 1;
      if (number % MEMORY_EVERY === 0) rssMost = Math.max(rssMost, process.memoryUsage.rss());
    }
    expect(rssMost - rssAtStart).toBeLessThan(GROWTH_BYTES_MAX);
    if (streams > STREAMS_DEFAULT) printFigures({ ...figures, endings, growthBytes: rssMost - rssAtStart });
  },
  4 * HOUR_MS,
);

function playStream(stream: HostileStream, number: number, figures: { bytes: number; chunks: number }): string {
  figures.bytes += stream.bytes.length;
  figures.chunks += stream.chunks.length;
  try {
    const relayed = relay(stream);
    const problem = problemOf(stream, relayed);
    if (problem !== null) throw new Error(problem);
    return `${stream.format}: ${relayed.delivery?.ended ?? 'no answer'}`;
  } catch (error) {
    const { format, end, dropUsage, chunks } = stream;
    const texts = chunks.map((chunk) => chunk.toString('latin1').slice(0, 5_000));
    throw new Error(
      `seed ${seed}, stream ${number}: ${String(error)}\n${JSON.stringify({ format, end, dropUsage, texts })}`,
    );
  }
}

interface Relayed {
  readonly written: Buffer;
  readonly delivery: Delivery | null;
  readonly isUnusable: boolean;
  /** Number of bytes before the provider's error, which is changed before it is relayed. */
  readonly sameBytes: number;
}

function relay(stream: HostileStream): Relayed {
  const pieces: Buffer[] = [];
  const ended: Delivery[] = [];
  let isUnusable = false;
  let sameBytes = Infinity;
  const relay: StreamRelay = new StreamRelay({
    answer: fakeResponse({ write: (bytes) => pieces.push(bytes) > 0 }),
    headers: [],
    reader: READERS[stream.format],
    metering: { dropUsageChunk: stream.dropUsage, makesUsageEvent: true, choices: 1 },
    requestId: ID,
    events: {
      begun: () => undefined,
      event: () => undefined,
      keptBack: () => undefined,
      firstToken: () => undefined,
      ended: (delivery) => ended.push(delivery),
      incomplete: () => (isUnusable = true),
      // Before the response has begun, treats two of three errors as final, so that they are
      // relayed in their own form.
      providerFailed: (_said, canPass) => {
        if (canPass && (relay.hasBegun || stream.bytes.length % 3 > 0)) {
          sameBytes = Buffer.concat(pieces).length;
          return true;
        }
        if (relay.hasBegun) relay.stop('cut', gatewayError('upstream_error'));
        else isUnusable = true;
        return false;
      },
      pause: () => undefined,
    },
  });
  for (const chunk of stream.chunks) {
    relay.data(chunk);
    if (isUnusable) break;
  }
  // Ends the relay like an attempt (call/attempt).
  if (isUnusable && relay.hasBegun) relay.stop('cut', gatewayError('upstream_error'));
  else if (isUnusable) relay.drop();
  else if (stream.end === 'proper') relay.end(false);
  else
    relay.stop(
      stream.end === 'cut' ? 'cut' : 'client_disconnected',
      stream.end === 'cut' ? gatewayError('upstream_timeout') : null,
    );
  if (isUnusable && ended.length === 0) relay.drop();
  if (ended.length > 1) throw new Error('it ended twice');
  ended[0]?.usageEvent?.(USAGE);
  return { written: Buffer.concat(pieces), delivery: ended[0] ?? null, isUnusable, sameBytes };
}

function problemOf(
  { bytes, dropUsage, end }: HostileStream,
  { written, delivery, isUnusable, sameBytes }: Relayed,
): string | null {
  if (delivery === null) return isUnusable || end === 'proper' ? null : 'it did not end';
  const sent = Buffer.concat([written, delivery.lastPiece ?? Buffer.alloc(0)]).subarray(0, sameBytes);
  if (!dropUsage && !sent.equals(bytes.subarray(0, sent.length))) return 'the bytes differ from those of the provider';
  if (sent.length > bytes.length) return 'more bytes than the provider sent';
  if (delivery.meter === null) return 'nothing was metered';
  if (delivery.ended === 'cut' && delivery.error !== null && delivery.cutEnding === undefined)
    return 'a cut without an ending';
  return meterProblem(delivery.meter, bytes.length) ?? chargeProblem(delivery);
}

function meterProblem({ usage, problem, begun, deliveredBytes }: MeterResult, bytes: number): string | null {
  if (!(deliveredBytes >= 0 && deliveredBytes <= bytes * TEXT_BYTES_PER_BYTE_MAX))
    return `${deliveredBytes} bytes of text`;
  if ((usage === null) !== (problem !== null)) return 'a usage together with a reason for a missing usage';
  for (const counts of [usage, begun ?? null]) {
    if (counts === null) continue;
    const isCount = (count: number): boolean => Number.isSafeInteger(count) && count >= 0 && count <= 3 * TOKENS_MAX;
    const { kinds: _kinds, ...own } = counts;
    const values = Object.values(own).flatMap((value: unknown) =>
      Array.isArray(value) ? value.flatMap(Object.values) : value,
    );
    if (!values.every((value) => value === null || isCount(value as number))) return `usage ${JSON.stringify(counts)}`;
  }
  return null;
}

function chargeProblem({ ended, meter }: Delivery): string | null {
  const charge = computeCharge({
    ended,
    meter,
    bounds: BOUNDS,
    figures: FIGURES,
    price: PRICE,
    hold: { worstNanoUsd: HOLD },
  });
  const { outcome, evidence, amountNanoUsd, usage } = charge;
  if (amountNanoUsd < 0n) return 'a charge below zero';
  if (ended === 'cut' && (outcome !== 'voided' || amountNanoUsd !== 0n)) return 'a cut stream is charged';
  if (evidence === 'estimated' && meter?.begun == null && amountNanoUsd > HOLD) return 'an estimate above the hold';
  return usage === null || amountNanoUsd === rate(usage, PRICE)
    ? null
    : 'the amount differs from the cost of the usage';
}

/** Reads a body that is not a stream with the reader of each format. No reader may throw. */
function playPlain(random: SeededRandom, number: number): string {
  const body = hostilePlain(random);
  for (const [format, reader] of Object.entries(READERS)) {
    try {
      const problem = meterProblem(reader.readPlain(body), body.length);
      if (problem !== null) throw new Error(problem);
    } catch (error) {
      throw new Error(
        `seed ${seed}, body ${number} as ${format}: ${String(error)}\n${body.toString('latin1').slice(0, 5_000)}`,
      );
    }
  }
  return 'plain';
}
