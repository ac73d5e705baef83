import type { TokenCounts } from '../scripts/script.js';

/** A JSON object from outside with unknown fields. */
export type JsonObject = Record<string, unknown>;

/** The requested response, read from the body by the endpoint. */
export interface AnswerRequest {
  /** Text of the last user message, prompt or input. The response repeats its first words. */
  lastText: string;
  /** Characters of all prompt text. Input tokens are a quarter of it. */
  promptCharacters: number;
  /** Number of choices: `n`, for legacy completions times the number of prompts. Default: 1. */
  choices?: number;
  /** The request's own output limit in tokens. */
  outputTokensMax?: number | undefined;
  /** The tool that `tool_choice` requires. */
  toolName?: string | undefined;
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
  param?: string;
}

/** The two families of error bodies and IDs. */
export type ProviderFormat = 'openai' | 'anthropic';

/** One model endpoint: reads its body and writes a default response. */
export interface Endpoint {
  format: ProviderFormat;
  read(body: JsonObject): AnswerRequest | Problem;
  plain(answer: Answer): JsonObject;
  /** The events of a streamed response; absent if the endpoint does not stream. */
  events?: (answer: Answer) => Generator<string>;
}

/** Returns the scripted usage, or the usage derived from the tokens; undefined: none. */
export function createUsage(answer: Answer, make: (tokens: TokenCounts) => JsonObject): JsonObject | undefined {
  return answer.usage === null ? undefined : (answer.usage ?? make(answer.tokens));
}

export const textOf = ({ pieces }: Answer): string => pieces.join('');

/** Formats an event whose data names its type. */
export function formatEvent(type: string, fields: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/** Returns the texts of a message's content: a string, or all parts with a `text`. */
export function listTexts(content: unknown): string[] {
  const parts: unknown[] = Array.isArray(content) ? content : [content];
  return parts.flatMap((part) => {
    const text = typeof part === 'object' && part !== null ? (part as JsonObject)['text'] : part;
    return typeof text === 'string' ? [text] : [];
  });
}

export function countCharacters(content: unknown): number {
  return listTexts(content).reduce((sum, text) => sum + text.length, 0);
}

/** Measures all messages. The last text is that of the last user, else of the last message. */
export function measureMessages(
  messages: readonly unknown[],
): Required<Pick<AnswerRequest, 'promptCharacters' | 'lastText'>> {
  const all = messages.filter((one): one is JsonObject => typeof one === 'object' && one !== null);
  const promptCharacters = all.reduce((sum, { content }) => sum + countCharacters(content), 0);
  const last = all.findLast(({ role }) => role === 'user') ?? all.at(-1);
  return { promptCharacters, lastText: listTexts(last?.['content']).find((text) => text !== '') ?? '' };
}

/** Returns an integer of at least 1; undefined for null or an absent field, NaN otherwise. */
export function positiveInteger(body: JsonObject, field: string): number | undefined {
  const value = body[field] ?? undefined;
  return value === undefined || (Number.isInteger(value) && Number(value) >= 1) ? (value as number) : NaN;
}

/**
 * Returns the required tool: the one named by `tool_choice`, or the first of `tools` for `required`
 * (chat, responses) and `any` (messages). Undefined if no tool is required; the response is then
 * text. The name is a field of the tool itself (messages, responses) or of its `function` (chat).
 */
export function findRequiredTool(body: JsonObject): string | undefined {
  const choice = body['tool_choice'];
  const { type } = (typeof choice === 'object' && choice !== null ? choice : {}) as JsonObject;
  const isAny = choice === 'required' || type === 'any';
  if (!isAny && type !== 'tool' && type !== 'function') return undefined;
  const tool = (isAny ? (body['tools'] as unknown[] | undefined)?.[0] : choice) as ToolReference | undefined;
  return tool?.name ?? tool?.function?.name ?? 'tool';
}

interface ToolReference {
  readonly name?: string;
  readonly function?: { readonly name?: string };
}
