import type { UsageEvent } from '@gateway/contracts/messages';
import type { NanoUsd } from '@gateway/metering';
import type { UsageRecord } from '../../records/rules.js';
import { type Postings, computePostings } from './postings-rules.js';
import { rateWire, buildRecord } from './record-rules.js';
import type { DeadLetter, DeadLetterReason, ReceivedEvent } from '../rules.js';

/** An event with its record and the record's postings. */
export interface PreparedEvent {
  readonly receivedEvent: ReceivedEvent;
  readonly record: UsageRecord;
  readonly postings: Postings;
}

export interface PreparedEvents {
  readonly accepted: readonly PreparedEvent[];
  readonly deadLetters: readonly DeadLetter[];
}

/** Separates events that may become records from events that become dead letters in any case. */
export function prepareEvents(received: readonly ReceivedEvent[]): PreparedEvents {
  const accepted: PreparedEvent[] = [];
  const deadLetters: DeadLetter[] = [];
  for (const receivedEvent of received) {
    const problem = findProblem(receivedEvent.event);
    const prepared = problem ?? prepare(receivedEvent);
    if ('reason' in prepared) deadLetters.push(buildDeadLetter(receivedEvent, prepared.reason, prepared.detail));
    else accepted.push(prepared);
  }
  return { accepted, deadLetters };
}

/** Builds the dead letter of an event that was read but cannot become a record. */
export function buildDeadLetter(receivedEvent: ReceivedEvent, reason: DeadLetterReason, detail: string): DeadLetter {
  const { event, sent, contentHash, origin } = receivedEvent;
  const bytes = Buffer.from(JSON.stringify(sent), 'utf8');
  return { contentHash, requestId: event.id, account: event.hold.account, origin, reason, detail, event: bytes };
}

/** The functions that build balance names throw a RangeError for an invalid month or period. */
function prepare(receivedEvent: ReceivedEvent): PreparedEvent | Problem {
  try {
    const record = buildRecord(receivedEvent);
    return { receivedEvent, record, postings: computePostings(record) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { reason: 'contradiction', detail: error.message };
  }
}

export interface Problem {
  readonly reason: DeadLetterReason;
  readonly detail: string;
}

/**
 * Returns the problem of an event that is well-formed; null if it may become a record. Billing
 * rates the usage again (docs/protocol.md#r7): an event with a different amount becomes a dead
 * letter and is never corrected.
 */
export function findProblem(event: UsageEvent): Problem | null {
  const { hold, outcome, rank, price } = event;
  const wrong = (detail: string): Problem => ({ reason: 'contradiction', detail });
  if ((rank === 1) !== (outcome === 'expired')) return wrong(`rank ${rank} is not the rank of ${outcome}`);
  if (price !== null && price.version !== hold.priceVersion) return wrong('the price version differs from the hold');
  if (outcome === 'settled' && price === null) return wrong('a settled call has no price');
  const planFunded = isPlanFunded(event);
  if (!planFunded && (hold.planMaxNanoUsd > 0 || hold.windows.length > 0 || hold.allotment !== null))
    return wrong('a wallet-funded call has parts of a plan');
  if (planFunded && hold.periods.subscription === null) return wrong('a plan-funded call has no subscription period');
  if (hold.windows.some(({ type }) => type === 'weekly') && hold.periods.weekly === null)
    return wrong('a weekly window has no week');
  const expected = expectedAmount(event);
  if (expected === BigInt(event.amountNanoUsd)) return null;
  return { reason: 'amount', detail: `the amount is ${event.amountNanoUsd}, but usage and price give ${expected}` };
}

/** The wallet's part of a wallet-funded call has no bound (docs/protocol.md#r7). */
export function isPlanFunded(event: UsageEvent): boolean {
  return event.hold.walletMaxNanoUsd !== null;
}

function expectedAmount({ outcome, usage, price, served }: UsageEvent): NanoUsd {
  if (outcome !== 'settled' || usage === null || price === null) return 0n;
  return rateWire(usage, price, served);
}
