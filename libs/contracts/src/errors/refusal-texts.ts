import { formatUsd } from '@gateway/metering';
import type { RefusalFacts } from '../messages/call.js';

/**
 * Users do not see the playground's key. Only its own limit applies to it
 * (libs/contracts/specification/model-gateway-api.md#limits).
 */
export const PLAYGROUND_RATE_TEXT = 'The playground has reached its requests per minute.';

/** For a window that is almost used up (docs/behaviour.md#windows). */
const NEAR_END_TEXT = 'The calls that run may use up the rest, so calls begin one at a time.';

/** Names the part of the request without a price. Returns null if the whole model has none. */
export function formatUnpriced({ field, unpriced, model }: RefusalFacts): string | null {
  if (field === undefined) return null;
  const name = unpriced === undefined || unpriced === field ? JSON.stringify(field) : plainName(unpriced);
  const ofModel = model === undefined ? '' : ` of ${plainName(model)}`;
  const askedWith = name === JSON.stringify(field) ? '' : ` The request asks for it with ${JSON.stringify(field)}.`;
  return `No price for ${name}${ofModel}; an operator can set it.${askedWith}`;
}

/** Quotes a name that a client chose, unless it has only ordinary characters. */
function plainName(name: string): string {
  return /^[\w.:/@-]+$/.test(name) ? name : JSON.stringify(name);
}

/**
 * The limit counts all keys of the account together, but the text speaks of the key
 * (libs/contracts/specification/model-gateway-api.md#limits).
 */
export function formatRate({ limit, retryAfterSeconds }: RefusalFacts): string[] {
  const sentences = limit === undefined ? [] : [`The limit is ${limit} per minute.`];
  if (retryAfterSeconds !== undefined) sentences.push(`Resets in ${retryAfterSeconds} s.`);
  return sentences;
}

/** Names the requested model. A missing publisher is the usual cause of an unknown name. */
export function formatRequestedModel(model: string): string {
  const named = `The request named ${JSON.stringify(model)}.`;
  return model.includes('/') ? named : `${named} Model ids have the form <publisher>/<model>.`;
}

/** With a window: the window is nearly used up. Otherwise no slot is free. */
export function formatRunning(facts: RefusalFacts): string[] {
  if (facts.window !== undefined) return [...formatAmounts(facts), NEAR_END_TEXT];
  return facts.limit === undefined ? [] : [`${facts.used ?? facts.limit} of ${facts.limit} are running.`];
}

/** @param formatTime formats the time at which the limit resets, an ISO 8601 text */
export function formatAmounts(facts: RefusalFacts, formatTime = (time: string) => `Resets at ${time}.`): string[] {
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
  if (facts.resetsAt !== undefined) sentences.push(formatTime(new Date(facts.resetsAt).toISOString()));
  return sentences;
}

/** Shows the date first, for a reset that is days away. */
export function formatRenewal(time: string): string {
  return `It is renewed on ${time.slice(0, 10)} (${time}).`;
}

function show(value: number, unit: 'usd' | 'requests'): string {
  return unit === 'requests' ? `${value} requests` : `$${formatUsd(BigInt(value))}`;
}
