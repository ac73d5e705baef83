import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { sendRequest, type Question } from './send-request.js';
import type { AttackBounds, RunningAttack } from './attack.js';

export interface RepeatOptions {
  /** Number of concurrent requests, each on a persistent connection. */
  readonly atOnce: number;
  /** Minimum interval between two requests of one connection. */
  readonly everyMs: number;
  readonly question: (n: number) => Question;
}

/** Repeats requests on many connections until the attack is over or stopped. */
export function repeatRequests({ atOnce, everyMs, question }: RepeatOptions, bounds: AttackBounds): RunningAttack {
  const connections = Math.min(atOnce, bounds.connectionsMax);
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const stopping = new AbortController();
  const answers: Record<string, number> = {};
  let n = 0;
  const worker = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const least = delay(everyMs);
      const { outcome } = await sendRequest({ ...question((n += 1)), agent, signal: stopping.signal });
      if (!stopping.signal.aborted) answers[outcome] = (answers[outcome] ?? 0) + 1;
      await least;
    }
  };
  const timer = setTimeout(() => stopping.abort(), bounds.seconds * 1_000);
  const ended = Promise.all(Array.from({ length: connections }, worker)).then(() => {
    clearTimeout(timer);
    agent.destroy();
    return { connections, connectionsMost: connections, answers };
  });
  return { ended, stop: () => stopping.abort() };
}
