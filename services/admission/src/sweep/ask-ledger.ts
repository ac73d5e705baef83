import { bucketOfAccount, shardOfAccount } from '@gateway/contracts/ids';
import { USAGE_EVENTS_MAX } from '@gateway/contracts/messages';
import type { UsageEvent } from '@gateway/contracts/messages';
import { applyCall } from '../domain/apply-script.js';
import { bucketKeys } from '../domain/gate-keys.js';
import { expiredEvent } from '../domain/sweep-script.js';
import type { DueHold, SweepOutcome } from '../domain/sweep-script.js';
import type { Ports } from '../ports.js';
import { holdsExpired } from './sweep-metrics.js';

/** Ids in one question (the contract's bound). */
const IDS_MAX = 1_000;
/** Accounts asked about at once. */
const QUESTIONS_MAX = 16;

interface Question {
  readonly account: string;
  readonly token: string;
  /** Redis time of the sweep, ms. */
  readonly now: number;
  readonly holds: readonly DueHold[];
}

/**
 * Asks billing for the records of calls whose holds are due. What has one is closed; what has none although billing has
 * settled everything that was stored until it fell due is recorded as expired. The rest is asked for again later.
 */
export async function askLedger(ports: Ports, outcomes: readonly SweepOutcome[]): Promise<void> {
  const questions = outcomes.flatMap(questionsOf);
  const expired: UsageEvent[] = [];
  for (let from = 0; from < questions.length; from += QUESTIONS_MAX) {
    const some = questions.slice(from, from + QUESTIONS_MAX);
    const answers = await Promise.all(some.map((question) => askOnce(ports, question)));
    expired.push(...answers.flat());
  }
  await recordExpired(ports, expired);
}

/** Closes what the ledger knows; returns the events of what it will never know. */
async function askOnce(ports: Ports, { account, token, now, holds }: Question): Promise<UsageEvent[]> {
  const { owners, gate, clock, log } = ports;
  try {
    const ids = holds.map(({ id }) => id);
    const answer = await owners.loadStanding({ account, names: [], ids, afterLoss: false });
    const { incarnation, standing, caughtUpTo } = answer;
    const load = { token, startedAt: now, complete: false, caughtUp: false };
    await gate.run([applyCall(bucketKeys(bucketOfAccount(account)), { account, incarnation, standing }, load)]);
    const closed = new Set(standing.closed);
    // Redis time carries the test clock's offset, the stream's time does not.
    const shift = clock.now() - clock.wall();
    return holds.filter(({ id, hold }) => !closed.has(id) && caughtUpTo > hold.due - shift).map(expiredEvent);
  } catch (err) {
    log.warn({ err, account, holds: holds.length }, 'billing was not asked for due holds');
    return [];
  }
}

async function recordExpired({ journal, log }: Ports, events: readonly UsageEvent[]): Promise<void> {
  const byShard = new Map<number, UsageEvent[]>();
  for (const event of events) {
    const shard = shardOfAccount(event.hold.account);
    const known = byShard.get(shard);
    if (known) known.push(event);
    else byShard.set(shard, [event]);
  }
  for (const [shard, own] of byShard) {
    for (let from = 0; from < own.length; from += USAGE_EVENTS_MAX) {
      const some = own.slice(from, from + USAGE_EVENTS_MAX);
      try {
        await journal.store(shard, some);
        holdsExpired.add(some.length);
      } catch (err) {
        log.warn({ err, shard, events: some.length }, 'expired calls were not recorded');
      }
    }
  }
}

/** One question per account, within the contract's bound. */
function questionsOf({ token, now, asks }: SweepOutcome): Question[] {
  const byAccount = new Map<string, DueHold[]>();
  for (const ask of asks) {
    const known = byAccount.get(ask.account);
    if (known) known.push(ask);
    else byAccount.set(ask.account, [ask]);
  }
  return [...byAccount].flatMap(([account, holds]) => {
    const questions: Question[] = [];
    for (let from = 0; from < holds.length; from += IDS_MAX) {
      questions.push({ account, token, now, holds: holds.slice(from, from + IDS_MAX) });
    }
    return questions;
  });
}
