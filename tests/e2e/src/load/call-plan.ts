import type { ModelOfRun } from '../evidence/evidence.js';

/**
 * Behaviour of the provider for the first attempt of a call. It serves all later attempts of that
 * call.
 */
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

/**
 * Plan of one call for the client and the provider. A seed and a number always give the same plan.
 */
export interface CallPlan {
  readonly n: number;
  readonly client: 'openai' | 'anthropic' | 'raw';
  readonly streamed: boolean;
  readonly pieces: number;
  readonly pieceBytes: number;
  readonly pieceMs: number;
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

const CLIENTS = ['openai', 'anthropic', 'raw', 'raw'] as const;
const STREAMED_SHARE = 0.6;
const UNAVAILABLE_SHARE = 0.05;
const FAILS_SHARE = 0.03;
const CUTS_SHARE = 0.03;
const PIECES = { min: 2, span: 9 };
const PIECE_BYTES = { min: 4, span: 60 };
const PIECE_MS_MAX = 30;
/** More than all buffers on the path hold, so that a slow client blocks the provider. */
const SLOW_PIECES = { pieces: 24, pieceBytes: 64 * 1024, pieceMs: 0 };

export function planCall(n: number, next: () => number, mix: Mix): CallPlan {
  const streamed = next() < STREAMED_SHARE;
  // Only the raw client can pause its reads.
  const isSlow = streamed && next() < mix.slow;
  const client = isSlow ? 'raw' : (CLIENTS[Math.floor(next() * CLIENTS.length)] ?? 'raw');
  const part = partOf(next());
  const leaves = isSlow ? null : leavingOf(client, streamed, next(), mix);
  const size = {
    pieces: whole(PIECES, next()),
    pieceBytes: whole(PIECE_BYTES, next()),
    pieceMs: Math.floor(next() * PIECE_MS_MAX),
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
  if (!streamed) return client === 'raw' && at < share / 2 ? 'half_sent' : 'at_once';
  return at < share / 8 ? 'at_once' : 'midway';
}

function whole({ min, span }: { min: number; span: number }, at: number): number {
  return min + Math.floor(at * span);
}

/** Returns the prompt, which contains the instructions to the provider. */
export function promptOf({ n, pieces, pieceBytes, pieceMs, part }: CallPlan, model: ModelOfRun): string {
  return JSON.stringify({ call: n, pieces, pieceBytes, pieceMs, part, model, filler: 'so that the bound is kept' });
}

/** Returns the text of one chunk. No two chunks of a run are equal. */
export function pieceOf(n: number, index: number, pieceBytes: number): string {
  return `${n}.${index}`.padEnd(pieceBytes, '-').concat(' ');
}

export function textOf({ n, pieces, pieceBytes }: CallPlan): string {
  let text = '';
  for (let index = 0; index < pieces; index += 1) text += pieceOf(n, index, pieceBytes);
  return text;
}

/**
 * Returns the usage that the provider reports. The output tokens are the call's number, so that a
 * usage record can be matched with its call.
 */
export function tokensOf(n: number): { input: number; output: number } {
  return { input: 5 + (n % INPUT_KINDS), output: n };
}

const INPUT_KINDS = 17;

const STEADY_CLIENTS = ['openai', 'anthropic', 'raw'] as const;
const PLAIN_MS = 150;
/** The lengths differ, so that the streams of a process do not end at the same time. */
const STREAM_PIECES = { min: 12, span: 9 };

/**
 * Plans a call without a failure.
 *
 * @param pieceMs pause between chunks of a stream; null for a plain call
 */
export function planSteadyCall(n: number, pieceMs: number | null): CallPlan {
  const client = STEADY_CLIENTS[n % STEADY_CLIENTS.length] ?? 'raw';
  const stays = { pieceBytes: 40, part: 'answers', leaves: null, isSlow: false } as const;
  if (pieceMs === null) return { n, client, streamed: false, pieces: 1, pieceMs: PLAIN_MS, ...stays };
  const pieces = STREAM_PIECES.min + (n % STREAM_PIECES.span);
  return { n, client, streamed: true, pieces, pieceMs, ...stays };
}
