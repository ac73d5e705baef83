import { type BenchContext, messageOf } from './context.js';

/** A series of rounds. Each measures every case for every subject. */
export interface Series<Subject, Case> {
  readonly rounds: number;
  readonly subjects: readonly Subject[];
  readonly cases: readonly Case[];
  measure(subject: Subject, one: Case, round: number): Promise<void>;
  beginRound?(round: number): Promise<void>;
  endRound?(round: number): Promise<void>;
}

/**
 * The measuring loop of all benchmarks. In each round, each case is measured for all subjects one
 * after the other, so that a slower minute of the machine affects all of them.
 * @returns the last complete round, and why the next one failed, or null
 * @throws Error if the first round fails
 */
export async function interleave<Subject, Case>(
  { rounds, subjects, cases, measure, beginRound, endRound }: Series<Subject, Case>,
  { log, signal }: BenchContext,
): Promise<{ readonly complete: number; readonly brokenOff: string | null }> {
  for (let round = 1; round <= rounds; round += 1) {
    try {
      await beginRound?.(round);
      for (const [index, one] of cases.entries()) {
        for (const subject of inTurn(subjects, round + index)) {
          signal.throwIfAborted();
          await measure(subject, one, round);
        }
      }
      await endRound?.(round);
    } catch (error) {
      const fault: unknown = signal.aborted ? signal.reason : error;
      if (round === 1) throw fault;
      const brokenOff = `round ${round} of ${rounds} failed and is not counted: ${messageOf(fault)}`;
      return { complete: round - 1, brokenOff };
    }
    log(`round ${round} of ${rounds} is done`);
  }
  return { complete: rounds, brokenOff: null };
}

/** Changes the first subject in each turn, and reverses the order every other turn. */
export function inTurn<T>(all: readonly T[], turn: number): T[] {
  const order = turn % 2 === 0 ? all : all.toReversed();
  const start = Math.floor(turn / 2) % all.length;
  return [...order.slice(start), ...order.slice(0, start)];
}
