import type { AnswerRequest } from './answer.js';

/** Most words of the request that a response repeats. */
const ECHO_WORDS_MAX = 8;
/** Characters of the request that the echo reads. Bounds the work for a large prompt. */
const ECHO_CHARACTERS_MAX = 512;
/** Words of a response unless something else sets its size. */
const ANSWER_WORDS = 24;
const TOKENS_PER_WORD = 1.3;
const BYTES_PER_TOKEN = 4;
/** Output tokens of a required tool call. */
const TOOL_CALL_TOKENS = 16;
/** Bytes of one streamed part of a `-bytes<N>` response. */
const PIECE_BYTES = 1024;
/** Largest N of `-chunks<N>`. */
const CHUNKS_MAX = 100_000;
/** Largest N of `-bytes<N>`: 16 MiB. */
const ANSWER_BYTES_MAX = 16_777_216;

const FILLER =
  'this answer comes from a simulator which writes the same words for the same question and knows nothing about the world'.split(
    ' ',
  );
const FILLER_PIECE = `${FILLER.join(' ')} `.repeat(Math.ceil(PIECE_BYTES / FILLER.length)).slice(0, PIECE_BYTES);
const SIZE_SUFFIX = /-(chunks|bytes)(\d{1,9})(?:-every(\d{1,7}))?$/;

/** The text of a default response in parts, and the output tokens of all its choices. */
export interface AnswerText {
  pieces: string[];
  outputTokens: number;
}

/**
 * Writes the text of a default response; the same request gets the same text. A model name that
 * ends in `-chunks<N>` or `-bytes<N>` sets the exact size. Otherwise the size is the lower one of
 * {@link ANSWER_WORDS} and the request's output limit. Returns undefined if N is too large.
 */
export function writeAnswerText(model: string, request: AnswerRequest): AnswerText | undefined {
  if (request.toolName !== undefined) return { pieces: [], outputTokens: TOOL_CALL_TOKENS * (request.choices ?? 1) };
  const suffix = SIZE_SUFFIX.exec(model);
  const { outputTokensMax = Infinity } = request;
  const wordsMax = Math.max(1, Math.min(ANSWER_WORDS, Math.floor(outputTokensMax / TOKENS_PER_WORD)));
  if (suffix === null) return wordsAnswer(request, wordsMax, outputTokensMax);
  const size = Number(suffix[2]);
  if (suffix[1] === 'bytes') return size > ANSWER_BYTES_MAX ? undefined : bytesAnswer(request, size);
  return size > CHUNKS_MAX ? undefined : wordsAnswer(request, size);
}

/**
 * Returns the milliseconds between the events of a stream for a model name that ends in `-every<N>`
 * after its size; null for others.
 */
export function parsePace(model: string): number | null {
  const pace = SIZE_SUFFIX.exec(model)?.[3];
  return pace === undefined ? null : Number(pace);
}

function wordsAnswer({ lastText, choices = 1 }: AnswerRequest, words: number, tokensMax = Infinity): AnswerText {
  const echo = echoOf(lastText);
  const pieces = Array.from({ length: words }, (_, index) => {
    const filler = FILLER[Math.max(0, index - echo.length) % FILLER.length];
    return `${index === 0 ? '' : ' '}${echo[index] ?? filler}`;
  });
  return { pieces, outputTokens: Math.min(Math.ceil(words * TOKENS_PER_WORD), tokensMax) * choices };
}

function bytesAnswer({ choices = 1 }: AnswerRequest, bytes: number): AnswerText {
  const length = Math.ceil(bytes / PIECE_BYTES);
  const pieces = Array.from({ length }, (_, index) => FILLER_PIECE.slice(0, bytes - index * PIECE_BYTES));
  return { pieces, outputTokens: Math.ceil(bytes / BYTES_PER_TOKEN) * choices };
}

function echoOf(text: string): string[] {
  const echoed = text.slice(0, ECHO_CHARACTERS_MAX).trim();
  if (echoed === '') return ['You', 'said', 'nothing:'];
  const words = echoed.split(/\s+/, ECHO_WORDS_MAX);
  words[0] = `"${words[0] as string}`;
  words[words.length - 1] += '":';
  return ['You', 'said', ...words];
}
