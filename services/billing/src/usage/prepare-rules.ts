import type { UsageEvent } from '@gateway/contracts/messages';
import type { SetAside, SetAsideReason, UsageFact, UsageRecord } from '../ledger/rules.js';
import { type Problem, problemOf } from './check-event.js';
import { type Effect, effectOf } from './postings-rules.js';
import { recordOf } from './record-rules.js';

/** An event with the record that it asks for and what that record means for the books. */
export interface PreparedEvent {
  readonly fact: UsageFact;
  readonly record: UsageRecord;
  readonly effect: Effect;
}

export interface PreparedEvents {
  readonly accepted: readonly PreparedEvent[];
  readonly setAside: readonly SetAside[];
}

/** Parts events that may become records from those that are set aside whatever the ledger holds. */
export function prepareEvents(facts: readonly UsageFact[]): PreparedEvents {
  const accepted: PreparedEvent[] = [];
  const setAside: SetAside[] = [];
  for (const fact of facts) {
    const problem = problemOf(fact.event);
    const prepared = problem ?? prepare(fact);
    if ('reason' in prepared) setAside.push(setAsideOf(fact, prepared.reason, prepared.detail));
    else accepted.push(prepared);
  }
  return { accepted, setAside };
}

/** What is kept of an event that was read but cannot become a record. */
export function setAsideOf(fact: UsageFact, reason: SetAsideReason, detail: string): SetAside {
  const { event, contentHash, origin } = fact;
  const { id, hold } = event;
  return { contentHash, requestId: id, account: hold.account, origin, reason, detail, event: bytesOf(event) };
}

/** Names of rows can be refused by their maker: a month or a period that is none. */
function prepare(fact: UsageFact): PreparedEvent | Problem {
  try {
    const record = recordOf(fact);
    return { fact, record, effect: effectOf(record) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { reason: 'contradiction', detail: error.message };
  }
}

function bytesOf(event: UsageEvent): Buffer {
  return Buffer.from(JSON.stringify(event), 'utf8');
}
