import { within } from '@gateway/service-kit';
import { callWithAnthropic } from './anthropic-client.js';
import { promptOf, textOf } from './call-plan.js';
import type { CallPlan } from './call-plan.js';
import type { ClientCall } from './evidence.js';
import { callWithOpenai } from './openai-client.js';
import { callRaw } from './raw-client.js';
import { CALL_MS_MAX } from './reading.js';
import type { CallPlace, Reading } from './reading.js';

/** Tokens that `max_tokens` allows above the number that the provider reports. */
const TOKENS_ABOVE = 8;
/** Time that a client has to notice the end of its call. After that the call is abandoned. */
const UNNOTICED_MS = 5_000;

/** Makes one call as planned and returns what its client saw. Never rejects. */
export async function makeCall(plan: CallPlan, place: CallPlace): Promise<ClientCall> {
  const reading: Reading = {
    requestId: null,
    status: null,
    code: null,
    text: '',
    usage: null,
    isWhole: false,
    hasLeft: false,
  };
  const begunAt = Date.now();
  const call = { openai: callWithOpenai, anthropic: callWithAnthropic, raw: callRaw }[plan.client];
  const request = { plan, place, prompt: promptOf(plan, place.model), maxTokens: plan.n + TOKENS_ABOVE };
  await within(call(request, reading), CALL_MS_MAX + UNNOTICED_MS).catch(() => undefined);
  const { requestId, status, code, usage } = reading;
  return {
    n: plan.n,
    account: place.account,
    model: place.model,
    edge: place.edge,
    client: plan.client,
    streamed: plan.streamed,
    requestId,
    status,
    code,
    usage,
    ending: endingOf(reading),
    text: compareText(reading.text, textOf(plan)),
    begunAt,
    endedAt: Date.now(),
  };
}

function endingOf({ status, isWhole, hasLeft }: Reading): ClientCall['ending'] {
  if (status !== null && status !== 200) return 'refused';
  if (isWhole) return 'whole';
  return hasLeft ? 'left' : 'cut';
}

function compareText(read: string, expected: string): ClientCall['text'] {
  if (read === expected) return 'all';
  return expected.startsWith(read) ? 'beginning' : 'other';
}
