import { type Endpoint, createUsage, positiveInteger } from './answer.js';
import { countPrompts, listPrompts } from './completions.js';

const DIMENSIONS_DEFAULT = 256;
const DIMENSIONS_MAX = 4096;
/** Most inputs in one request, as at the provider. */
const INPUTS_MAX = 2048;

/** `POST /v1/embeddings`. */
export const embeddings: Endpoint = {
  format: 'openai',
  read(body) {
    const inputs = listPrompts(body['input']);
    if (inputs === undefined || inputs.length > INPUTS_MAX)
      return { message: `'input' must be text or tokens, or at most ${INPUTS_MAX} of them.`, param: 'input' };
    if (!((positiveInteger(body, 'dimensions') ?? 1) <= DIMENSIONS_MAX))
      return { message: `Invalid 'dimensions': an integer from 1 to ${DIMENSIONS_MAX}.`, param: 'dimensions' };
    return { lastText: '', promptCharacters: countPrompts(inputs) };
  },
  plain(answer) {
    const { body, model, tokens } = answer;
    const dimensions = positiveInteger(body, 'dimensions') ?? DIMENSIONS_DEFAULT;
    const data = (listPrompts(body['input']) ?? []).map((input, index) => {
      const vector = createVector(input, dimensions);
      const isCoded = body['encoding_format'] === 'base64';
      const embedding = isCoded ? Buffer.from(vector.buffer).toString('base64') : [...vector];
      return { object: 'embedding', index, embedding };
    });
    const usage = createUsage(answer, () => ({ prompt_tokens: tokens.input, total_tokens: tokens.input }));
    return { object: 'list', data, model, usage };
  },
};

/** Returns a vector of length 1 that depends only on the input. */
function createVector(input: string | number[], dimensions: number): Float32Array {
  let seed = dimensions;
  for (const item of input) seed = (Math.imul(seed, 31) + (typeof item === 'number' ? item : item.charCodeAt(0))) | 0;
  const vector = Float32Array.from({ length: dimensions }, () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) | 0;
    return seed / 0x80000000;
  });
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}
