import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { ask, type Question } from './ask.js';
import type { AttackBounds, RunningAttack } from './attack.js';

export interface AskedAgain {
  /** Requests at one time, each on a connection that is kept. */
  readonly atOnce: number;
  /** Least time between two requests of one connection. */
  readonly everyMs: number;
  /** The n-th request. */
  readonly question: (n: number) => Question;
}

/** Asks on many connections, each time as soon as it was answered, until the time is over or it is stopped. */
export function askAgain({ atOnce, everyMs, question }: AskedAgain, bounds: AttackBounds): RunningAttack {
  const connections = Math.min(atOnce, bounds.connectionsMax);
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const stopping = new AbortController();
  const answers: Record<string, number> = {};
  let n = 0;
  const lane = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const least = delay(everyMs);
      const { outcome } = await ask({ ...question((n += 1)), agent, signal: stopping.signal });
      if (!stopping.signal.aborted) answers[outcome] = (answers[outcome] ?? 0) + 1;
      await least;
    }
  };
  const timer = setTimeout(() => stopping.abort(), bounds.seconds * 1_000);
  const ended = Promise.all(Array.from({ length: connections }, lane)).then(() => {
    clearTimeout(timer);
    agent.destroy();
    return { connections, connectionsMost: connections, answers };
  });
  return { ended, stop: () => stopping.abort() };
}
