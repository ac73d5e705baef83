import type { TokenCounts } from '../scripts/script.js';

/** A JSON object as it came from outside: nothing is known of its fields. */
export type JsonObject = Record<string, unknown>;

/** The answer that a request wants, as its endpoint reads the body. */
export interface AnswerRequest {
  /**
   * Text of the last user message, the prompt or the input: the answer mentions its first words.
   */
  lastText: string;
  /** Characters of all prompt text; input tokens are a quarter of it. */
  promptCharacters: number;
  /** Number of answers: `n`, for legacy completions times the number of prompts. */
  choices: number;
  /** The request's own output limit in tokens. */
  outputTokensMax: number | undefined;
  /** The tool that `tool_choice` demands. */
  toolName: string | undefined;
}

/** A default answer, from which each endpoint writes its own format. */
export interface Answer {
  /** It is unique in this process; the endpoint puts its prefix before it. */
  id: string;
  createdSeconds: number;
  model: string;
  /** The text in the pieces in which it is streamed. */
  pieces: readonly string[];
  choices: number;
  toolName: string | undefined;
  tokens: TokenCounts;
  /**
   * Scripted usage in the provider's own form; null: the answer reports none; undefined: made from
   * `tokens`.
   */
  usage: JsonObject | null | undefined;
  body: JsonObject;
}

/** A provider's error about a body: status 400 in the provider's format. */
export interface Problem {
  message: string;
  param: string | null;
}

/** The two families of error bodies and ids. */
export type ProviderFormat = 'openai' | 'anthropic';

/** One model endpoint: how its body is read and how a default answer is written. */
export interface Endpoint {
  format: ProviderFormat;
  read(body: JsonObject): AnswerRequest | Problem;
  plain(answer: Answer): string;
  /** The events of a streamed answer; undefined where the endpoint does not stream. */
  events: ((answer: Answer) => Generator<string>) | undefined;
}

/**
 * The scripted usage or the one made from tokens; undefined, which JSON leaves out, when there is
 * none.
 */
export function usageOf(answer: Answer, make: (tokens: TokenCounts) => JsonObject): JsonObject | undefined {
  if (answer.usage === null) return undefined;
  return answer.usage ?? make(answer.tokens);
}
