import type { RunningServer } from '@gateway/servers';
import { every, type Background } from '@gateway/service-kit';
import { RestartDelay } from './child.js';

type Restartable = Pick<RunningServer, 'pid' | 'restart'>;

interface Watched {
  readonly delay: RestartDelay;
  upSince: number;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Restarts servers that ended unexpectedly, each with its own back-off. Never starts a second
 * process: the previous one has ended, and a server that was stopped or started meanwhile is left
 * alone. Does not notice the end of a server given by URL or run by a container engine.
 */
export class ServerRestarter {
  readonly #watched = new Map<string, Watched>();
  /** Null until all servers have started. */
  #servers: Readonly<Partial<Record<string, Restartable>>> | null = null;
  readonly #endedEarly = new Set<string>();
  readonly #meanwhile: Background[] = [];
  #isStopped = false;

  /** @param onChange receives a line when a server ended and when it is ready again */
  constructor(private readonly onChange: (text: string) => void) {}

  /** Restarts servers that end from now on, and those that ended before. */
  watch(servers: Readonly<Partial<Record<string, Restartable>>>): void {
    this.#servers = servers;
    for (const name of this.#endedEarly) this.#startSoon(name);
    this.#endedEarly.clear();
  }

  /** Reports the unexpected end of a server; `code` is null after a signal. */
  ended(name: string, code: number | null): void {
    const how = code === null ? 'signal' : `code ${code}`;
    this.#startSoon(name, how);
  }

  /**
   * Repeats this work while servers are watched. Its errors are ignored, because they follow from
   * failures of servers.
   */
  meanwhile(everyMs: number, work: () => Promise<void>): void {
    this.#meanwhile.push(every(everyMs, work));
  }

  /** Prevents further restarts. The server's own `stop` ends a start in progress. */
  stop(): void {
    this.#isStopped = true;
    for (const work of this.#meanwhile) void work.stop();
    for (const { timer } of this.#watched.values()) clearTimeout(timer);
  }

  #startSoon(name: string, how = 'before all servers had started'): void {
    if (this.#isStopped) return;
    const server = this.#servers?.[name];
    if (this.#servers === null) this.#endedEarly.add(name);
    if (server?.restart === undefined) return;
    const watched = this.#of(name);
    const delayMs = watched.delay.next(performance.now() - watched.upSince);
    this.onChange(`${name} ended (${how}); restarting in ${delayMs} ms`);
    this.#startIn(delayMs, name, server, performance.now());
  }

  #startIn(delayMs: number, name: string, server: Restartable, endedAt: number): void {
    const watched = this.#of(name);
    clearTimeout(watched.timer);
    watched.timer = setTimeout(() => {
      server.restart?.({ ifEnded: true }).then(
        () => {
          if (server.pid === null) return;
          watched.upSince = performance.now();
          const seconds = ((watched.upSince - endedAt) / 1_000).toFixed(1);
          this.onChange(`${name} is ready again after ${seconds} s (pid ${server.pid})`);
        },
        (error: Error) => {
          if (this.#isStopped) return;
          const nextMs = watched.delay.next(0);
          this.onChange(`${name} does not start (retry in ${nextMs} ms): ${error.message}`);
          this.#startIn(nextMs, name, server, endedAt);
        },
      );
    }, delayMs);
  }

  #of(name: string): Watched {
    const watched = this.#watched.get(name) ?? { delay: new RestartDelay(), upSince: 0, timer: undefined };
    this.#watched.set(name, watched);
    return watched;
  }
}
