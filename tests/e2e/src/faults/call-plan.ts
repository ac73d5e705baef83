import type { ModelOfRun } from './evidence.js';

/**
 * What the provider does with the first request of a call; a later one of the same call is
 * answered.
 */
export type ProviderPart =
  | 'answers'
  /** 503: the next source is asked. */
  | 'unavailable'
  /** 500, which is final. */
  | 'fails'
  /** Breaks in the midst of its answer. */
  | 'cuts';

/** When the client goes away: before the answer, or after so many pieces of it. */
export type Leaving = 'half_sent' | 'at_once' | 'midway';

/**
 * One call as it is going to be, for client and provider; the same for the same seed and number.
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
  /** Reads a piece and then pauses. */
  readonly isSlow: boolean;
}

/** Shares, 0 to 1. */
export interface Mix {
  /** Of streams and of plain calls that their clients leave. */
  readonly streamsLeft: number;
  readonly plainLeft: number;
  /** Of streams that are read slowly. */
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
/** More than all buffers on the way hold: who reads slowly is felt at the provider. */
const SLOW_PIECES = { pieces: 24, pieceBytes: 64 * 1024, pieceMs: 0 };

export function planCall(n: number, next: () => number, mix: Mix): CallPlan {
  const streamed = next() < STREAMED_SHARE;
  // Only a raw socket can be told not to read.
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

/** How the provider knows what to do: the text of the only message. */
export function promptOf({ n, pieces, pieceBytes, pieceMs, part }: CallPlan, model: ModelOfRun): string {
  return JSON.stringify({ call: n, pieces, pieceBytes, pieceMs, part, model, filler: 'so that the bound is kept' });
}

/** The text of a piece: no two pieces of any call are alike. */
export function pieceOf(n: number, index: number, pieceBytes: number): string {
  return `${n}.${index}`.padEnd(pieceBytes, '-').concat(' ');
}

/** What a client must have read of a call. */
export function textOf({ n, pieces, pieceBytes }: CallPlan): string {
  let text = '';
  for (let index = 0; index < pieces; index += 1) text += pieceOf(n, index, pieceBytes);
  return text;
}

/** What the provider reports: output tokens tell the call, so that a record says whose it is. */
export function tokensOf(n: number): { input: number; output: number } {
  return { input: 5 + (n % INPUT_KINDS), output: n };
}

const INPUT_KINDS = 17;
