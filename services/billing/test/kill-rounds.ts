import type { ChildProcess } from 'node:child_process';
import { makeUuidV7, shardOfAccount } from '@gateway/contracts/ids';
import type { UsageEvent } from '@gateway/contracts/messages';
import { until } from '@gateway/testkit';
import { type DisturbedWorld, ended, GROUPS } from './disturbed-world.js';
import { expired, holdFor, planHoldFor, seededRandom, settled, START, voided } from './events.js';

/**
 * What a worker calls while it settles a batch: its ports, and the two statements that make a
 * transaction.
 */
export const PORT_CALLS = ['hold', 'ensureMonth', 'settle', 'BEGIN', 'COMMIT', 'standing', 'ack'];

/** Every statement of a settle transaction, by its name, in their order. */
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
  'insert_set_aside',
  'insert_applied',
  'lock_chain_heads',
  'append_chain_blocks',
];

const REACH_MS = 120_000;
/**
 * Runs a worker for each group at once, because a round is mostly waiting: for its start and for
 * the messages of its predecessor. Lets workers kill themselves at each point, `times` times at
 * each, one after the other; between two kills new events arrive, with repetitions, late and early
 * ones and such as cannot be read. Returns the number of kills.
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
  await ended(first);
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

/** Events of accounts of some shards, out of a seed. */
export class Traffic {
  readonly #accounts: readonly string[];
  readonly #random: () => number;
  /** Expired already; their settled events are still to come. */
  readonly #late: UsageEvent[] = [];
  #before: UsageEvent[] = [];
  #rounds = 0;

  constructor(shards: readonly number[], seed: number) {
    this.#accounts = Array.from({ length: 40 }, (_, index) => `account-${index}`).filter((account) =>
      shards.includes(shardOfAccount(account)),
    );
    this.#random = seededRandom(seed);
  }

  /** Calls that have expired: two for each later round. */
  prepared(rounds: number): UsageEvent[] {
    const late = Array.from({ length: rounds * 2 }, () => this.call());
    this.#late.push(...late);
    return late.map(expired);
  }

  /**
   * New calls, one of them with a new key, one that was voided, repetitions, expiries that come too
   * late, late settles, and what is no event.
   */
  round(): unknown[] {
    this.#rounds += 1;
    const fresh = [this.call(`key-of-${this.#rounds}`), this.call(), voided(this.call())];
    const late = this.#late.splice(0, 2);
    const again = this.#before.slice(0, 2);
    const events = [...fresh, ...late, ...again, ...again.map(expired), ...this.#malformed()];
    this.#before = [...fresh, ...late];
    return events.sort((one, other) => rankOf(one) - rankOf(other));
  }

  /** A call of any funding. */
  call(key = `key-${this.#pick(3)}`): UsageEvent {
    const account = this.#accounts[this.#pick(this.#accounts.length)] as string;
    const hold = this.#pick(2) === 0 ? holdFor(account) : planHoldFor(account, this.#pick(80), this.#pick(60));
    const event = settled({ ...hold, key }, 1 + this.#pick(150));
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

/**
 * An order that has nothing to do with that of the calls, and is the same in every run of a seed's
 * round.
 */
function rankOf(event: unknown): number {
  return (event as UsageEvent).endedAt ?? 0;
}
