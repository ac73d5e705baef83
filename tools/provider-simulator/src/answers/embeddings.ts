import { createUsage } from './answer.js';
import type { Answer, AnswerRequest, Endpoint, JsonObject, Problem } from './answer.js';
import { lengthOf, promptsOf } from './completions.js';
import { positiveInteger } from './prompt-text.js';

/** Default number of dimensions of a vector. */
const DIMENSIONS_DEFAULT = 256;
/** Most dimensions of a vector. */
const DIMENSIONS_MAX = 4096;
/** Most inputs in one request, as at the provider. */
const INPUTS_MAX = 2048;

/** `POST /v1/embeddings`. */
export const embeddings: Endpoint = { format: 'openai', read, plain, events: undefined };

function read(body: JsonObject): AnswerRequest | Problem {
  const inputs = promptsOf(body['input']);
  if (inputs === undefined || inputs.length > INPUTS_MAX) {
    return { message: `'input' must be text or tokens, or at most ${INPUTS_MAX} of them.`, param: 'input' };
  }
  const dimensions = positiveInteger(body, 'dimensions') ?? DIMENSIONS_DEFAULT;
  if (dimensions === 'wrong' || dimensions > DIMENSIONS_MAX) {
    return { message: `Invalid 'dimensions': an integer from 1 to ${DIMENSIONS_MAX}.`, param: 'dimensions' };
  }
  const promptCharacters = inputs.reduce((sum, input) => sum + lengthOf(input), 0);
  return { lastText: '', promptCharacters, choices: 1, outputTokensMax: undefined, toolName: undefined };
}

function plain(answer: Answer): string {
  const { body, tokens } = answer;
  const dimensions = typeof body['dimensions'] === 'number' ? body['dimensions'] : DIMENSIONS_DEFAULT;
  const data = (promptsOf(body['input']) ?? []).map((input, index) => {
    const vector = vectorOf(input, dimensions);
    const embedding = body['encoding_format'] === 'base64' ? base64Of(vector) : vector;
    return { object: 'embedding', index, embedding };
  });
  const usage = createUsage(answer, () => ({ prompt_tokens: tokens.input, total_tokens: tokens.input }));
  return JSON.stringify({ object: 'list', data, model: answer.model, usage });
}

/** Returns a vector of length 1 that depends only on the input. */
function vectorOf(input: string | number[], dimensions: number): number[] {
  let seed = dimensions;
  for (let index = 0; index < input.length; index += 1) {
    const item = input[index];
    seed = (Math.imul(seed, 31) + (typeof item === 'number' ? item : (item ?? '').charCodeAt(0))) | 0;
  }
  const vector: number[] = [];
  let squares = 0;
  for (let index = 0; index < dimensions; index += 1) {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) | 0;
    const value = seed / 0x80000000;
    vector.push(value);
    squares += value * value;
  }
  const length = Math.sqrt(squares) || 1;
  return vector.map((value) => Math.fround(value / length));
}

/** Encodes 32-bit little-endian floats for `encoding_format: base64`. */
function base64Of(vector: number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  vector.forEach((value, index) => bytes.writeFloatLE(value, index * 4));
  return bytes.toString('base64');
}
