import { ENDPOINTS, type Endpoint } from '@gateway/contracts/messages';
import { ENDPOINT_TABLE } from '../formats/endpoints.js';
import type { AttemptJudgment } from '../errors/judge-attempt.js';

/** One call of a test. */
export interface TestRequest {
  readonly endpoint: Endpoint;
  readonly streamed: boolean;
}

/** Largest response in tokens. Reasoning counts too: with less, reasoning models return no text. */
const OUTPUT_TOKENS_MAX = 1_024;
/** The same for completions, where a model continues the text until the limit. */
const COMPLETION_TOKENS_MAX = 16;

/**
 * Returns a plain call of each endpoint, in their usual order, and a streamed call of the first
 * endpoint that can stream.
 */
export function makeTestRequests(endpoints: readonly Endpoint[]): TestRequest[] {
  const served = ENDPOINTS.filter((endpoint) => endpoints.includes(endpoint));
  const main = served.find((endpoint) => ENDPOINT_TABLE.get(endpoint)?.generates);
  return served.flatMap((endpoint) => [
    { endpoint, streamed: false },
    ...(endpoint === main ? [{ endpoint, streamed: true }] : []),
  ]);
}

/** The field that limits the output, for an endpoint with two such fields. */
export type LimitField = 'max_tokens' | 'max_completion_tokens';

/** Returns the smallest valid request of an endpoint. */
export function makeTestBody({ endpoint, streamed }: TestRequest, model: string, limit: LimitField): Buffer {
  const body = { model, ...ASKED[endpoint](limit), ...(streamed ? { stream: true } : {}) };
  return Buffer.from(JSON.stringify(body));
}

const TEXT = 'Say hi.';
const MESSAGES = [{ role: 'user', content: TEXT }];

const ASKED: Readonly<Record<Endpoint, (limit: LimitField) => object>> = {
  '/v1/chat/completions': (limit) => ({ messages: MESSAGES, [limit]: OUTPUT_TOKENS_MAX }),
  '/v1/completions': () => ({ prompt: TEXT, max_tokens: COMPLETION_TOKENS_MAX }),
  '/v1/messages': () => ({ max_tokens: OUTPUT_TOKENS_MAX, messages: MESSAGES }),
  '/v1/messages/count_tokens': () => ({ messages: MESSAGES }),
  '/v1/embeddings': () => ({ input: 'hi' }),
  '/v1/responses': () => ({ input: TEXT, max_output_tokens: OUTPUT_TOKENS_MAX }),
};

/** Whether only the field's name was rejected. Reasoning models require the other name. */
export function wantsOtherLimit({ errorClass, reported }: AttemptJudgment): boolean {
  return errorClass === 'body' && reported?.message?.includes('max_completion_tokens') === true;
}
