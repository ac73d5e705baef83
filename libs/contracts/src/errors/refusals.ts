import { formatUsd } from '@gateway/metering';
import type { RefusalFacts } from '../messages/admission.js';
import { findCatalogueEntry } from './catalogue.js';
import type { ErrorCode } from './catalogue.js';
import { createGatewayError } from './gateway-error.js';
import type { GatewayError } from './gateway-error.js';
import { REFUSAL, REFUSAL_RANKS } from './refusal-ranks.js';
import type { RefusalCode } from './refusal-ranks.js';

/** URLs that the error texts contain. */
export interface ErrorContext {
  readonly billingLinkUrl: string;
  readonly chatBaseUrl: string;
  readonly messagesBaseUrl: string;
}

/**
 * Creates the error of a refusal: the code's fixed text, then the numbers that explain it
 * (docs/behaviour.md#order-of-refusals).
 */
export function createRefusalError(rank: number, facts: RefusalFacts, context: ErrorContext): GatewayError {
  const code = findCode(rank, facts);
  const entry = findCatalogueEntry(code);
  const sentences = [ownText(code, facts) ?? entry.text, ...explain(code, facts, context)];
  if (entry.billingLink) sentences.push(`See ${context.billingLinkUrl}`);
  return createGatewayError(code, sentences.join(' '), {
    param: (code === 'model_not_priced' ? facts.field : PARAM_OF_CODE[code]) ?? null,
    retryAfterSeconds: facts.retryAfterSeconds,
  });
}

/**
 * Users do not see the playground's key. Only its own limit applies to it
 * (libs/contracts/specification/model-gateway-api.md#limits).
 */
const PLAYGROUND_RATE_TEXT = 'The playground has reached its requests per minute.';

/** Returns the text for cases that the code's fixed text does not fit, else null. */
function ownText(code: ErrorCode, { playground, field, unpriced, model }: RefusalFacts): string | null {
  if (code === 'rate_limited' && playground) return PLAYGROUND_RATE_TEXT;
  if (code !== 'model_not_priced' || field === undefined) return null;
  const name = unpriced === undefined || unpriced === field ? JSON.stringify(field) : plainName(unpriced);
  const ofModel = model === undefined ? '' : ` of ${plainName(model)}`;
  const askedWith = name === JSON.stringify(field) ? '' : ` The request asks for it with ${JSON.stringify(field)}.`;
  return `No price for ${name}${ofModel}; an operator can set it.${askedWith}`;
}

/** Quotes a name that a client chose, unless it has only ordinary characters. */
function plainName(name: string): string {
  return /^[\w.:/@-]+$/.test(name) ? name : JSON.stringify(name);
}

/** For a window that is almost used up (docs/behaviour.md#windows). */
const NEAR_END_TEXT = 'The calls that run may use up the rest, so calls begin one at a time.';

const PARAM_OF_CODE: Partial<Record<ErrorCode, string>> = {
  model_not_found: 'model',
  model_not_allowed_on_key: 'model',
  endpoint_not_supported_for_model: 'model',
  model_not_available: 'model',
};

/**
 * Returns the error code of a refusal rank.
 * @param rank from a message, so it can be any number
 * @throws RangeError for an unknown rank
 */
export function findCode(rank: number, facts: RefusalFacts): RefusalCode {
  if (rank === REFUSAL.key_inactive) return facts.state ?? 'key_inactive';
  const code = REFUSAL_RANKS[rank - 1]?.codes[0];
  if (code === undefined) throw new RangeError(`there is no rank ${rank} in the order of refusals`);
  return code;
}

function explain(code: ErrorCode, facts: RefusalFacts, context: ErrorContext): string[] {
  switch (code) {
    case 'unsupported_endpoint':
      return [
        `Chat-completions clients use the base URL ${context.chatBaseUrl}, messages clients ${context.messagesBaseUrl} (without /v1).`,
      ];
    case 'rate_limited':
      return rateSentences(facts);
    case 'concurrency_limit':
      if (facts.window !== undefined) return [...amounts(code, facts), NEAR_END_TEXT];
      return facts.limit === undefined ? [] : [`${facts.used ?? facts.limit} of ${facts.limit} are running.`];
    case 'model_not_allowed_on_key':
      return [`Allowed models: ${(facts.allowedModels ?? []).join(', ')}.`];
    case 'model_not_found':
      return facts.model === undefined ? [] : [namedModel(facts.model)];
    case 'outstanding_debt':
    case 'insufficient_credits':
    case 'member_cap_reached':
    case 'monthly_spend_cap_exceeded':
    case 'window_exhausted':
    case 'model_limit_reached':
      return amounts(code, facts);
    default:
      return [];
  }
}

/**
 * The limit counts all keys of the account together, but the text speaks of the key
 * (libs/contracts/specification/model-gateway-api.md#limits).
 */
function rateSentences({ limit, retryAfterSeconds }: RefusalFacts): string[] {
  const sentences = limit === undefined ? [] : [`The limit is ${limit} per minute.`];
  if (retryAfterSeconds !== undefined) sentences.push(`Resets in ${retryAfterSeconds} s.`);
  return sentences;
}

/** Names the requested model. A missing publisher is the usual cause of an unknown name. */
function namedModel(model: string): string {
  const named = `The request named ${JSON.stringify(model)}.`;
  return model.includes('/') ? named : `${named} Model ids have the form <publisher>/<model>.`;
}

function amounts(code: ErrorCode, facts: RefusalFacts): string[] {
  const unit = facts.unit ?? 'usd';
  const known = [
    ['limit', facts.limit],
    ['used', facts.used],
    ['available', facts.available],
    ['held for unsettled calls', facts.held],
    ["this call's worst case", facts.worst],
    ["this call's least cost", facts.least],
  ] as const;
  const parts = known.flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${show(value, unit)}`]));
  const subject = facts.window ? `Window ${facts.window}: ` : 'In numbers: ';
  const sentences = parts.length > 0 ? [`${subject}${parts.join(', ')}.`] : [];
  if (facts.resetsAt !== undefined) {
    const time = new Date(facts.resetsAt).toISOString();
    sentences.push(
      code === 'model_limit_reached' ? `It is renewed on ${time.slice(0, 10)} (${time}).` : `Resets at ${time}.`,
    );
  }
  return sentences;
}

function show(value: number, unit: 'usd' | 'requests'): string {
  return unit === 'requests' ? `${value} requests` : `$${formatUsd(BigInt(value))}`;
}
