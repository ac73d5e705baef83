import type { TokenCounts } from '../scripts/script.js';

/** A JSON object from outside with unknown fields. */
export type JsonObject = Record<string, unknown>;

/** The requested response, read from the body by the endpoint. */
export interface AnswerRequest {
  /** Text of the last user message, prompt or input. The response repeats its first words. */
  lastText: string;
  /** Characters of all prompt text. Input tokens are a quarter of it. */
  promptCharacters: number;
  /** Number of choices: `n`, for legacy completions times the number of prompts. */
  choices: number;
  /** The request's own output limit in tokens. */
  outputTokensMax: number | undefined;
  /** The tool that `tool_choice` requires. */
  toolName: string | undefined;
}

/** A default response, which each endpoint writes in its own format. */
export interface Answer {
  /** Unique in this process. The endpoint adds its prefix. */
  id: string;
  createdSeconds: number;
  model: string;
  /** The parts of the text as they are streamed. */
  pieces: readonly string[];
  choices: number;
  toolName: string | undefined;
  tokens: TokenCounts;
  /**
   * Scripted usage in the provider's own form; null: the response reports none; undefined: derived
   * from `tokens`.
   */
  usage: JsonObject | null | undefined;
  body: JsonObject;
}

/** A provider's error about a body: status 400 in the provider's format. */
export interface Problem {
  message: string;
  param: string | null;
}

/** The two families of error bodies and IDs. */
export type ProviderFormat = 'openai' | 'anthropic';

/** One model endpoint: reads its body and writes a default response. */
export interface Endpoint {
  format: ProviderFormat;
  read(body: JsonObject): AnswerRequest | Problem;
  plain(answer: Answer): string;
  /** The events of a streamed response; undefined if the endpoint does not stream. */
  events: ((answer: Answer) => Generator<string>) | undefined;
}

/**
 * Returns the scripted usage, or the usage derived from the tokens; undefined (omitted in JSON) if
 * there is none.
 */
export function createUsage(answer: Answer, make: (tokens: TokenCounts) => JsonObject): JsonObject | undefined {
  if (answer.usage === null) return undefined;
  return answer.usage ?? make(answer.tokens);
}
