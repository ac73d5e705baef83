import type { SeededRandom } from '@gateway/testkit/random';
import type { ModelOfRun, Tokens } from '../evidence/evidence.js';

/** Behaviour of the provider at the first attempt of a call; it serves later attempts. */
export type ProviderPart =
  | 'answers'
  /** Returns 503; the edge tries the next source. */
  | 'unavailable'
  /** Returns 500, which the edge does not retry. */
  | 'fails'
  /** Breaks the connection halfway through the response. */
  | 'cuts';

/** When the client disconnects: within its request, before the response, or halfway through it. */
export type Leaving = 'half_sent' | 'at_once' | 'midway';

/** Plan of one call for the client and the provider. */
export interface CallPlan {
  readonly n: number;
  readonly client: 'openai' | 'anthropic' | 'http';
  readonly streamed: boolean;
  /** Chunks of the text. */
  readonly pieces: number;
  readonly pieceBytes: number;
  /** Pause before each event of a stream, and before each half of a plain response. */
  readonly pauseMs: number;
  readonly part: ProviderPart;
  readonly leaves: Leaving | null;
  readonly isSlow: boolean;
}

export interface Mix {
  /** Share of streams, and of other calls, whose clients disconnect early. */
  readonly streamsLeft: number;
  readonly plainLeft: number;
  readonly slow: number;
}

export const FAULTS_MIX: Mix = { streamsLeft: 0.1, plainLeft: 0.04, slow: 0.03 };
export const SOAK_MIX: Mix = { streamsLeft: 0.32, plainLeft: 0.05, slow: 0.05 };

const CLIENTS = ['openai', 'anthropic', 'http', 'http'] as const;
const STREAMED_SHARE = 0.6;
const UNAVAILABLE_SHARE = 0.05;
const FAILS_SHARE = 0.03;
const CUTS_SHARE = 0.03;
const PIECES = { min: 2, span: 9 };
const PIECE_BYTES = { min: 4, span: 60 };
const PAUSE_MS_MAX = 20;
/** More than all buffers on the path hold, so that a slow client blocks the provider. */
const SLOW_PIECES = { pieces: 24, pieceBytes: 64 * 1024, pauseMs: 0 };

/** Plans a random call. The state of the generator and a number always give the same plan. */
export function planCall(n: number, random: SeededRandom, mix: Mix): CallPlan {
  const streamed = random.chance(STREAMED_SHARE);
  // Only the HTTP client can pause its reads.
  const isSlow = streamed && random.chance(mix.slow);
  const client = isSlow ? 'http' : random.pick(CLIENTS);
  const part = partOf(random.next());
  const leaves = isSlow ? null : leavingOf(client, streamed, random.next(), mix);
  const size = {
    pieces: PIECES.min + random.below(PIECES.span),
    pieceBytes: PIECE_BYTES.min + random.below(PIECE_BYTES.span),
    pauseMs: random.below(PAUSE_MS_MAX),
  };
  return { n, client, streamed, part, leaves, isSlow, ...(isSlow ? SLOW_PIECES : size) };
}

function partOf(at: number): ProviderPart {
  if (at < UNAVAILABLE_SHARE) return 'unavailable';
  if (at < UNAVAILABLE_SHARE + FAILS_SHARE) return 'fails';
  return at < UNAVAILABLE_SHARE + FAILS_SHARE + CUTS_SHARE ? 'cuts' : 'answers';
}

function leavingOf(client: CallPlan['client'], streamed: boolean, at: number, mix: Mix): Leaving | null {
  const share = streamed ? mix.streamsLeft : mix.plainLeft;
  if (at >= share) return null;
  if (!streamed) return client === 'http' && at < share / 2 ? 'half_sent' : 'at_once';
  return at < share / 8 ? 'at_once' : 'midway';
}

/** The lengths differ, so that the streams of a process do not end at the same time. */
const STEADY_PIECES = { min: 8, span: 9 };
const PLAIN_MS = 75;

/**
 * Plans a call without a failure.
 *
 * @param pauseMs pause before each of the 11 to 21 events of a stream; null for a plain call
 */
export function planSteadyCall(n: number, pauseMs: number | null): CallPlan {
  const client = (['openai', 'anthropic', 'http'] as const)[n % 3] ?? 'http';
  const stays = { pieceBytes: 40, part: 'answers', leaves: null, isSlow: false } as const;
  if (pauseMs === null) return { n, client, streamed: false, pieces: 1, pauseMs: PLAIN_MS, ...stays };
  return { n, client, streamed: true, pieces: STEADY_PIECES.min + (n % STEADY_PIECES.span), pauseMs, ...stays };
}

/** Instructions to the provider. They are the prompt of a call. */
export type Instruction = Pick<CallPlan, 'n' | 'pieces' | 'pieceBytes' | 'pauseMs' | 'part'>;

export function promptOf({ n, pieces, pieceBytes, pauseMs, part }: CallPlan, model: ModelOfRun): string {
  const instruction: Instruction = { n, pieces, pieceBytes, pauseMs, part };
  return JSON.stringify({ ...instruction, model, filler: 'so that the bound is kept' });
}

/** Returns the chunks of the text. No two chunks of a run are equal. */
export function piecesOf({ n, pieces, pieceBytes }: Instruction): string[] {
  return Array.from({ length: pieces }, (_, index) => `${n}.${index}`.padEnd(pieceBytes, '-').concat(' '));
}

const INPUT_KINDS = 17;

/**
 * Returns the usage that the provider reports. The output tokens are the call's number, so that a
 * usage record can be matched with its call.
 */
export function tokensOf(n: number): Tokens {
  return { input: 5 + (n % INPUT_KINDS), output: n };
}
