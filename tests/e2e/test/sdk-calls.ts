import Anthropic from '@anthropic-ai/sdk';
import { expect } from '@jest/globals';
import { parseUsd } from '@gateway/metering';
import OpenAI from 'openai';
import type { TestOperator } from './operator.js';
import { computeCharge } from './prices.js';

/** The result of one call with an official client. */
export interface SdkAnswer {
  readonly requestId: string;
  readonly text: string;
  /** Usage as the client reads it. `cached` is part of the input. */
  readonly usage: { readonly input: number; readonly cached: number; readonly output: number };
}

export type SdkCall = (clients: SdkClients, model: string) => Promise<SdkAnswer>;

export interface SdkClients {
  readonly openai: OpenAI;
  readonly anthropic: Anthropic;
}

/** @param edgeUrl without `/v1` */
export function sdkClients(edgeUrl: string, secret: string): SdkClients {
  const settings = { apiKey: secret, maxRetries: 0 };
  return {
    openai: new OpenAI({ ...settings, baseURL: `${edgeUrl}/v1` }),
    anthropic: new Anthropic({ ...settings, baseURL: edgeUrl }),
  };
}

const PROMPT = 'Say hello.';
const messages = [{ role: 'user' as const, content: PROMPT }];
/**
 * Makes a sampling model deterministic: llama.cpp omits `message_start` if the first token is not a
 * complete character.
 */
const SAME = { temperature: 0 };
const MAX_TOKENS = 24;

/** All ways to call a chat model, by name. */
export const SDK_CALLS: Readonly<Record<string, SdkCall>> = {
  'chat completions, plain': async ({ openai }, model) => {
    const asked = openai.chat.completions.create({ model, messages, max_tokens: MAX_TOKENS, ...SAME });
    const { data, response } = await asked.withResponse();
    return answer(response, data.choices[0]?.message.content, chatUsage(data.usage));
  },
  'chat completions, streamed': async ({ openai }, model) => {
    const stream_options = { include_usage: true };
    const body = { model, messages, max_tokens: MAX_TOKENS, ...SAME, stream: true as const, stream_options };
    const { data, response } = await openai.chat.completions.create(body).withResponse();
    let text = '';
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of data) {
      text += chunk.choices[0]?.delta.content ?? '';
      usage = chunk.usage ?? usage;
    }
    return answer(response, text, chatUsage(usage));
  },
  'messages, plain': async ({ anthropic }, model) => {
    const asked = anthropic.messages.create({ model, messages, max_tokens: MAX_TOKENS, ...SAME });
    const { data, response } = await asked.withResponse();
    const text = data.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    return answer(response, text, messagesUsage(data.usage, data.usage));
  },
  'messages, streamed': async ({ anthropic }, model) => {
    const asked = anthropic.messages.create({ model, messages, max_tokens: MAX_TOKENS, ...SAME, stream: true });
    const { data, response } = await asked.withResponse();
    let text = '';
    let begun: Anthropic.Usage | undefined;
    let ended: Anthropic.MessageDeltaUsage | undefined;
    for await (const sseEvent of data) {
      if (sseEvent.type === 'message_start') begun = sseEvent.message.usage;
      if (sseEvent.type === 'content_block_delta' && sseEvent.delta.type === 'text_delta') text += sseEvent.delta.text;
      if (sseEvent.type === 'message_delta') ended = sseEvent.usage;
    }
    return answer(response, text, messagesUsage(begun, ended));
  },
  'responses, plain': async ({ openai }, model) => {
    const asked = openai.responses.create({ model, input: PROMPT, max_output_tokens: MAX_TOKENS, ...SAME });
    const { data, response } = await asked.withResponse();
    return answer(response, data.output_text, responseUsage(data.usage));
  },
  'responses, streamed': async ({ openai }, model) => {
    const asked = openai.responses.create({
      model,
      input: PROMPT,
      max_output_tokens: MAX_TOKENS,
      ...SAME,
      stream: true,
    });
    const { data, response } = await asked.withResponse();
    let text = '';
    let usage: OpenAI.Responses.ResponseUsage | null | undefined;
    for await (const sseEvent of data) {
      if (sseEvent.type === 'response.output_text.delta') text += sseEvent.delta;
      if (sseEvent.type === 'response.completed' || sseEvent.type === 'response.incomplete') {
        usage = sseEvent.response.usage;
      }
    }
    return answer(response, text, responseUsage(usage));
  },
};

/** An embedding. Its text is the number of dimensions. */
export const embed: SdkCall = async ({ openai }, model) => {
  const asked = openai.embeddings.create({ model, input: PROMPT, encoding_format: 'float' });
  const { data, response } = await asked.withResponse();
  const { length = 0 } = data.data[0]?.embedding ?? {};
  return answer(response, String(length), { input: data.usage.prompt_tokens, cached: 0, output: 0 });
};

function answer(response: Response, text: string | null | undefined, usage: SdkAnswer['usage']): SdkAnswer {
  return { requestId: response.headers.get('x-gateway-request-id') ?? '', text: text ?? '', usage };
}

function chatUsage(usage: OpenAI.CompletionUsage | null | undefined): SdkAnswer['usage'] {
  const { prompt_tokens: input = -1, completion_tokens: output = -1, prompt_tokens_details } = usage ?? {};
  return { input, cached: prompt_tokens_details?.cached_tokens ?? 0, output };
}

function responseUsage(usage: OpenAI.Responses.ResponseUsage | null | undefined): SdkAnswer['usage'] {
  const { input_tokens: input = -1, output_tokens: output = -1 } = usage ?? {};
  return { input, cached: usage?.input_tokens_details?.cached_tokens ?? 0, output };
}

/** Adds cached tokens, which the protocol's input does not include. */
function messagesUsage(
  begun: Pick<Anthropic.Usage, 'input_tokens' | 'cache_read_input_tokens'> | undefined,
  ended: Pick<Anthropic.Usage, 'output_tokens'> | undefined,
): SdkAnswer['usage'] {
  const cached = begun?.cache_read_input_tokens ?? 0;
  return { input: (begun?.input_tokens ?? -1) + cached, cached, output: ended?.output_tokens ?? -1 };
}

/**
 * Checks that the record of a call has the usage that its client read, and its cost at `PRICES`.
 */
export async function compareWithRecord(operator: TestOperator, asked: Promise<SdkAnswer>): Promise<SdkAnswer> {
  const answer = await asked;
  const { chargedUsd, tokens, evidence, outcome } = await operator.usageRecord(answer.requestId);
  const { input, cached: cachedInput, output } = answer.usage;
  const wanted = { input, cachedInput, cacheWrite: 0, cacheWrite1h: 0, output };
  expect({ tokens, evidence, outcome }).toEqual({ tokens: wanted, evidence: 'reported', outcome: 'settled' });
  expect(parseUsd(chargedUsd)).toBe(computeCharge({ prompt_tokens: input, completion_tokens: output }));
  return answer;
}
