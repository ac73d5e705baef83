import type { RunningServer } from '@gateway/servers';
import { every, type Background } from '@gateway/service-kit';

type Restartable = Pick<RunningServer, 'pid' | 'restart'>;

const BASE_MS = 250;
const MAX_MS = 10_000;
/** A process that ran longer than this restarts with the shortest delay. */
const SETTLED_MS = 30_000;

/**
 * Restarts processes that ended unexpectedly, each with its own back-off. Never starts a second
 * process: the previous one has ended, and a process that was stopped or started meanwhile is left
 * alone. Does not notice the end of a server given by URL or run by a container engine.
 */
export class Restarter {
  readonly #watched = new Map<string, Restartable>();
  /** Names of processes that ended before they were watched. */
  readonly #endedEarly = new Set<string>();
  readonly #histories = new Map<string, { ends: number; upSince: number; timer?: NodeJS.Timeout }>();
  readonly #meanwhile: Background[] = [];
  #isStopped = false;

  /** @param onChange receives a line when a process ended and when it is ready again */
  constructor(private readonly onChange: (text: string) => void) {}

  /** Restarts processes that end from now on, and those that ended before. */
  watch(processes: Readonly<Record<string, Restartable>>): void {
    for (const [name, one] of Object.entries(processes)) {
      this.#watched.set(name, one);
      if (this.#endedEarly.delete(name)) this.ended(name, 'before all servers had started');
    }
  }

  /** Reports the unexpected end of a process. */
  ended(name: string, how: string): void {
    const ended = this.#watched.get(name);
    if (ended === undefined) this.#endedEarly.add(name);
    if (ended?.restart === undefined || this.#isStopped) return;
    const delayMs = this.#nextDelay(name);
    this.onChange(`${name} ended (${how}); restarting in ${delayMs} ms`);
    this.#restartIn(delayMs, name, ended, performance.now());
  }

  /**
   * Repeats this work while processes are watched. Its errors are ignored, because they follow from
   * failures of servers.
   */
  meanwhile(everyMs: number, work: () => Promise<void>): void {
    this.#meanwhile.push(every(everyMs, work));
  }

  /** Prevents further restarts. The process's own `stop` ends a start in progress. */
  stop(): void {
    this.#isStopped = true;
    for (const work of this.#meanwhile) void work.stop();
    for (const { timer } of this.#histories.values()) clearTimeout(timer);
  }

  #restartIn(delayMs: number, name: string, ended: Restartable, endedAt: number): void {
    const history = this.#historyOf(name);
    clearTimeout(history.timer);
    history.timer = setTimeout(() => {
      ended.restart?.({ ifEnded: true }).then(
        () => {
          if (ended.pid === null) return;
          history.upSince = performance.now();
          const seconds = ((history.upSince - endedAt) / 1_000).toFixed(1);
          this.onChange(`${name} is ready again after ${seconds} s (pid ${ended.pid})`);
        },
        (error: Error) => {
          if (this.#isStopped) return;
          const nextMs = this.#nextDelay(name);
          this.onChange(`${name} does not start (retry in ${nextMs} ms): ${error.message}`);
          this.#restartIn(nextMs, name, ended, endedAt);
        },
      );
    }, delayMs);
  }

  /** Returns the delay in ms, which doubles with each early end. */
  #nextDelay(name: string): number {
    const history = this.#historyOf(name);
    const isSettled = history.upSince > 0 && performance.now() - history.upSince > SETTLED_MS;
    history.ends = isSettled ? 1 : history.ends + 1;
    history.upSince = 0;
    return Math.min(MAX_MS, BASE_MS * 2 ** (history.ends - 1));
  }

  #historyOf(name: string) {
    const history = this.#histories.get(name) ?? { ends: 0, upSince: 0 };
    this.#histories.set(name, history);
    return history;
  }
}
