import { bucketOfAccount, shardOfAccount, usageGroupOfShard } from '@gateway/contracts/ids';
import { USAGE_EVENTS_MAX, type UsageEvent } from '@gateway/contracts/messages';
import { keyMonthRow, memberMonthRow } from '@gateway/metering';
import { groupBy } from '@gateway/service-kit/group-by';
import { buildApplyCall } from '../apply/apply-script.js';
import { findBucketKeys } from '../limit-store/key-rules.js';
import { type DueHold, type SweepOutcome, expiredEvent, expiredHold } from './sweep-script.js';
import type { Ports } from '../ports.js';
import { NamedCalls } from './named-calls.js';
import { holdsExpired, questionsDropped } from '../metrics.js';

/** IDs and balance names in one request (the limits of the contract). */
export const IDS_MAX = 1_000;
const NAMES_MAX = 100;
/** Concurrent requests to billing. */
const ASKING_MAX = 16;
/**
 * After this many failures in a row billing counts as away and waiting requests are dropped. A
 * single failure may concern one account only, which must not delay the others.
 */
const FAILURES_MAX = 2;
/**
 * Limits the log to one line per minute, because an outage of billing causes a failure per account.
 */
const LOG_MS = 60_000;
/** Maximum waiting requests. A further one is dropped: its holds fall due again later. */
const WAITING_MAX = 2_000;

interface Question {
  readonly account: string;
  readonly epoch: string;
  /** Redis time of the sweep, ms. */
  readonly now: number;
  readonly holds: readonly DueHold[];
  /**
   * Monthly balances that the holds count in: when a hold is closed, every balance that its record
   * changed must be included (docs/protocol.md#r8).
   */
  readonly names: readonly string[];
}

/**
 * Requests from billing the records of calls whose holds are due. A call with a record is closed. A
 * call without one is recorded as expired if billing has settled all events that were stored until
 * the hold fell due, unless its edge still names the call. All other calls are requested again
 * later. Requests run concurrently with sweeps, so that an unresponsive billing does not delay the
 * release of slots.
 */
export class LedgerClient {
  readonly #waiting: Question[] = [];
  readonly #asking = new Set<Promise<void>>();
  #failures = 0;
  #loggedAt = -Infinity;
  readonly #named: NamedCalls;

  constructor(private readonly ports: Ports) {
    this.#named = new NamedCalls(ports);
  }

  /**
   * Queues the results of a sweep. Returns at once. After a failure only one request is sent at a
   * time. If it fails too, the others are dropped: each of their holds is due again within a
   * minute.
   */
  take(outcomes: Iterable<SweepOutcome>): void {
    for (const outcome of outcomes) {
      for (const question of questionsOf(outcome)) {
        if (this.#waiting.length < WAITING_MAX) this.#waiting.push(question);
        else questionsDropped.add();
      }
    }
    this.#askNext();
  }

  /** Whether the last request succeeded, which means that billing and the journal respond. */
  settles(): boolean {
    return this.#failures === 0;
  }

  /** Resolves when no request waits for an answer. */
  async idle(): Promise<void> {
    while (this.#asking.size > 0) await Promise.all(this.#asking);
  }

  #failed({ account, holds }: Question, err: unknown): void {
    this.#failures += 1;
    if (this.#failures >= FAILURES_MAX) questionsDropped.add(this.#waiting.splice(0).length);
    const now = this.ports.clock.wall();
    if (now - this.#loggedAt < LOG_MS) return;
    this.#loggedAt = now;
    this.ports.log.warn({ err, account, holds: holds.length }, 'due holds were not settled; will retry');
  }

  #askNext(): void {
    while (this.#asking.size < (this.#failures === 0 ? ASKING_MAX : 1)) {
      const question = this.#waiting.shift();
      if (question === undefined) return;
      const asking = settleQuestion(this.ports, this.#named, question).then((failure) => {
        if (failure === null) this.#failures = 0;
        else this.#failed(question, failure.err);
        this.#asking.delete(asking);
        this.#askNext();
      });
      this.#asking.add(asking);
    }
  }
}

/** Returns the reason for a failure, or null. Never rejects: the holds fall due again. */
async function settleQuestion(
  ports: Ports,
  named: NamedCalls,
  question: Question,
): Promise<{ readonly err: unknown } | null> {
  try {
    const ended = await withoutNamed(named, await askOnce(ports, question), question.now);
    await recordExpired(
      ports,
      question.account,
      ended.map((one) => expiredEvent(expiredHold(one), one.hold.due)),
    );
    return null;
  } catch (err) {
    return { err };
  }
}

/** Closes calls with a record. Returns those that never get one unless they still run. */
async function askOnce(ports: Ports, { account, epoch, now, holds, names }: Question): Promise<DueHold[]> {
  const { owners, limitStore, clock } = ports;
  const ids = holds.map(({ id }) => id);
  const answer = await owners.loadBalances({ account, names, ids, afterLoss: false });
  const { ledgerEpoch, snapshot, caughtUpTo, version } = answer;
  const load = { epoch, startedAt: now, complete: false, caughtUp: false, version };
  await limitStore.run([
    buildApplyCall(findBucketKeys(bucketOfAccount(account)), { account, ledgerEpoch, snapshot }, load),
  ]);
  const closed = new Set(snapshot.closed);
  // Redis time includes the test clock's offset; the stream's time does not.
  const shiftMs = clock.now() - clock.wall();
  return holds.filter(({ id, hold }) => !closed.has(id) && caughtUpTo > hold.due - shiftMs);
}

/**
 * Removes calls that a recent heartbeat of their edge contains. The stream has such a heartbeat,
 * but no replica has processed it.
 */
async function withoutNamed(named: NamedCalls, due: readonly DueHold[], since: number): Promise<DueHold[]> {
  const ended: DueHold[] = [];
  for (const one of due) {
    const { edge } = one.hold;
    if (edge === null || !(await named.of(edge, since)).has(one.id)) ended.push(one);
  }
  return ended;
}

/** Builds the requests: one account each, within the limits of the contract. */
function questionsOf({ epoch, now, dueHolds }: SweepOutcome): Question[] {
  return [...groupBy(dueHolds, (ask) => ask.account)].flatMap(([account, holds]) =>
    partsOf(holds).map(({ part, names }) => ({ account, epoch, now, holds: part, names: [...names] })),
  );
}

interface Part {
  readonly part: DueHold[];
  readonly names: Set<string>;
}

function partsOf(holds: readonly DueHold[]): Part[] {
  let last: Part = { part: [], names: new Set() };
  const parts = [last];
  for (const hold of holds) {
    const { key, member, month } = hold.template;
    const rows = [keyMonthRow(key, month), memberMonthRow(member, month)];
    if (last.part.length >= IDS_MAX || last.names.size + rows.length > NAMES_MAX) {
      last = { part: [], names: new Set() };
      parts.push(last);
    }
    last.part.push(hold);
    for (const row of rows) last.names.add(row);
  }
  return parts;
}

/** Records calls as expired, because their edge will not end them. Rejects if not stored. */
export async function recordExpired(
  { journal }: Pick<Ports, 'journal'>,
  account: string,
  events: readonly UsageEvent[],
): Promise<void> {
  const group = usageGroupOfShard(shardOfAccount(account));
  for (let from = 0; from < events.length; from += USAGE_EVENTS_MAX) {
    const some = events.slice(from, from + USAGE_EVENTS_MAX);
    await journal.store(group, some);
    holdsExpired.add(some.length);
  }
}
