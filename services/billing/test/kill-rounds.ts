import type { ChildProcess } from 'node:child_process';
import { makeUuidV7, shardOfAccount } from '@gateway/contracts/ids';
import type { UsageEvent } from '@gateway/contracts/messages';
import { until } from '@gateway/testkit';
import { type DisturbedWorld, killProcess, GROUPS } from './disturbed-world.js';
import {
  toExpiredEvent,
  createHold,
  createPlanHold,
  seededRandom,
  createSettledEvent,
  START,
  toVoidedEvent,
} from './events.js';

/** The calls of a worker that settles a batch: its ports, and the statements BEGIN and COMMIT. */
export const PORT_CALLS = ['hold', 'ensureMonth', 'commit', 'BEGIN', 'COMMIT', 'snapshots', 'ack'];

/** The names of all statements of a settle transaction, in order. */
export const STATEMENTS = [
  'add_missing_accounts',
  'lock_accounts',
  'read_records',
  'database_mark',
  'read_rows',
  'read_names',
  'add_names',
  'insert_records',
  'add_to_hours',
  'update_rows',
  'write_rows',
  'write_versions',
  'insert_dead_letters',
  'insert_applied',
  'lock_chain_heads',
  'append_chain_blocks',
];

const REACH_MS = 120_000;
/**
 * Kills workers at each point `times` times, one after the other. Between two kills new events
 * arrive: repetitions, late and early ones, and unreadable ones. Runs one worker per group
 * concurrently, because a round mostly waits for the worker's start and for the messages of the
 * killed one. Returns the number of kills.
 */
export async function killAtEach(
  world: DisturbedWorld,
  points: readonly string[],
  times: number,
  seed: number,
  killed: (kills: number, of: number) => void = () => undefined,
): Promise<number> {
  const rounds = points.flatMap((point) => Array.from({ length: times }, () => point));
  const workers = Array.from({ length: GROUPS }, (_, group) => ({
    group,
    traffic: new Traffic([group], seed + group),
    rounds: rounds.filter((_point, index) => index % GROUPS === group),
  }));
  for (const { group, traffic, rounds: ofWorker } of workers)
    await world.store(traffic.prepared(ofWorker.length), 20, group);
  const first = world.worker();
  await world.settled();
  await killProcess(first);
  let kills = 0;
  await Promise.all(
    workers.map(async ({ group, traffic, rounds: ofWorker }) => {
      for (const point of ofWorker) {
        await world.store(traffic.round(), 2, group);
        await killedAt(world.worker({ subjects: [group], point }), point);
        kills += 1;
        killed(kills, rounds.length);
      }
    }),
  );
  return rounds.length;
}

async function killedAt(child: ChildProcess, point: string): Promise<void> {
  await until(`a worker reaches "${point}"`, () => child.signalCode ?? child.exitCode, REACH_MS);
  if (child.signalCode !== 'SIGKILL') throw new Error(`a worker ended by itself before it reached "${point}"`);
}

/** Events of accounts of some shards, derived from a seed. */
export class Traffic {
  readonly #accounts: readonly string[];
  readonly #random: () => number;
  /** Expired calls whose settled events follow later. */
  readonly #late: UsageEvent[] = [];
  #before: UsageEvent[] = [];
  #rounds = 0;

  constructor(shards: readonly number[], seed: number) {
    this.#accounts = Array.from({ length: 40 }, (_, index) => `account-${index}`).filter((account) =>
      shards.includes(shardOfAccount(account)),
    );
    this.#random = seededRandom(seed);
  }

  /** Returns expired calls: two for each later round. */
  prepared(rounds: number): UsageEvent[] {
    const late = Array.from({ length: rounds * 2 }, () => this.call());
    this.#late.push(...late);
    return late.map(toExpiredEvent);
  }

  /**
   * Returns the events of a round: new calls (one with a new key, one voided), repetitions,
   * expiries that are too late, late settlements, and a malformed event.
   */
  round(): unknown[] {
    this.#rounds += 1;
    const fresh = [this.call(`key-of-${this.#rounds}`), this.call(), toVoidedEvent(this.call())];
    const late = this.#late.splice(0, 2);
    const again = this.#before.slice(0, 2);
    const events = [...fresh, ...late, ...again, ...again.map(toExpiredEvent), ...this.#malformed()];
    this.#before = [...fresh, ...late];
    return events.sort((one, other) => rankOf(one) - rankOf(other));
  }

  /** Returns a call of any funding. */
  call(key = `key-${this.#pick(3)}`): UsageEvent {
    const account = this.#accounts[this.#pick(this.#accounts.length)] as string;
    const hold = this.#pick(2) === 0 ? createHold(account) : createPlanHold(account, this.#pick(80), this.#pick(60));
    const event = createSettledEvent({ ...hold, key }, 1 + this.#pick(150));
    return { ...event, endedAt: START + 1 + this.#pick(10_000) };
  }

  #malformed(): unknown[] {
    const whole = this.call();
    const wrong = [
      { ...whole, amountNanoUsd: whole.amountNanoUsd + 1 },
      { id: makeUuidV7(START), hold: whole.hold },
      { ...whole, hold: { ...whole.hold, priceVersion: 'another' } },
      { ...whole, rank: 3 },
    ];
    return [wrong[this.#pick(wrong.length)]];
  }

  #pick(max: number): number {
    return Math.floor(this.#random() * max);
  }
}

/** Sorts by a value that is independent of the calls' order, and equal in every run of a seed. */
function rankOf(event: unknown): number {
  return (event as UsageEvent).endedAt ?? 0;
}
