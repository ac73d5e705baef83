import { writeAnswerText } from '../answers/answer-text.js';
import type { Answer, AnswerRequest, Endpoint, JsonObject, Problem } from '../answers/answer.js';
import { isTokenCounts } from '../scripts/parse-step.js';
import type { ScriptUsage, TokenCounts } from '../scripts/script.js';

/** Characters of a prompt per input token. */
const CHARACTERS_PER_TOKEN = 4;

/** A parsed JSON body. `model` is undefined if the body has none; no script applies then. */
export interface ParsedBody {
  fields: JsonObject;
  model: string | undefined;
}

/** Returns undefined if the bytes are not a JSON object. */
export function parseBody(bytes: Buffer): ParsedBody | undefined {
  try {
    const fields: unknown = JSON.parse(bytes.toString('utf8'));
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return undefined;
    const { model } = fields as JsonObject;
    return { fields: fields as JsonObject, model: typeof model === 'string' && model !== '' ? model : undefined };
  } catch {
    return undefined;
  }
}

/** Reports whether the request asks for a stream and the endpoint supports it. */
export function isStreamRequested(endpoint: Endpoint, body: ParsedBody | undefined): boolean {
  return endpoint.events !== undefined && body?.fields['stream'] === true;
}

/** Prepares the default response to a body, or the provider's error about it. */
export function prepareAnswer(
  endpoint: Endpoint,
  body: ParsedBody | undefined,
  made: { id: string; createdSeconds: number; words: number; usage: ScriptUsage | undefined },
): Answer | Problem {
  if (body === undefined) return { message: 'The body is not a JSON object.', param: null };
  if (body.model === undefined) return { message: 'You must provide a model parameter.', param: 'model' };
  const request = endpoint.read(body.fields);
  if ('message' in request) return request;
  const text = writeAnswerText(body.model, request, made.words);
  if (text === undefined) return { message: 'The size in the model name is above its bound.', param: 'model' };
  const isOwnForm = made.usage !== undefined && made.usage !== null && !isTokenCounts(made.usage);
  return {
    id: made.id,
    createdSeconds: made.createdSeconds,
    model: body.model,
    pieces: text.pieces,
    choices: request.choices,
    toolName: request.toolName,
    tokens: countTokens(request, text.outputTokens, isOwnForm ? undefined : made.usage),
    usage: made.usage === null || isOwnForm ? (made.usage as JsonObject | null) : undefined,
    body: body.fields,
  };
}

/** Counts input by the prompt's length and output by the response's, or by a script. */
function countTokens(request: AnswerRequest, output: number, scripted: ScriptUsage | undefined): TokenCounts {
  const input = Math.max(1, Math.ceil(request.promptCharacters / CHARACTERS_PER_TOKEN));
  const counts: TokenCounts = { input, cachedInput: 0, cacheWrite: 0, output, ...scripted };
  // A script that sets only a part of the input must not make the whole smaller than its parts.
  counts.input = Math.max(counts.input, counts.cachedInput + counts.cacheWrite);
  return counts;
}
