import type { RunningServer } from '@gateway/servers';
import { every, type Background } from '@gateway/service-kit';
import { RestartDelay } from './restart-delay.js';

type Restartable = Pick<RunningServer, 'pid' | 'restart'>;

interface Watched {
  readonly delay: RestartDelay;
  upSince: number;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Starts servers again that ended unasked, each with its own back-off, as children are.
 * There is never a second one: the server before has ended, and one that was stopped or started
 * meanwhile is left alone. The end of a server given by URL or run by an engine is not noticed.
 */
export class ServerRestarter {
  readonly #watched = new Map<string, Watched>();
  /** It is null until all have started. */
  #servers: Readonly<Partial<Record<string, Restartable>>> | null = null;
  readonly #endedEarly = new Set<string>();
  readonly #meanwhile: Background[] = [];
  #isStopped = false;

  /** @param onChange gets a line when a server ended, and when it is ready again */
  constructor(private readonly onChange: (text: string) => void) {}

  /** Starts again what ends from now on, and what has ended before. */
  watch(servers: Readonly<Partial<Record<string, Restartable>>>): void {
    this.#servers = servers;
    for (const name of this.#endedEarly) this.#startSoon(name);
    this.#endedEarly.clear();
  }

  /** Takes the end of a server that nobody stopped; `code` is null after a signal. */
  ended(name: string, code: number | null): void {
    const how = code === null ? 'signal' : `code ${code}`;
    this.#startSoon(name, how);
  }

  /** Does this again and again while servers are watched; its faults are those of servers. */
  meanwhile(everyMs: number, work: () => Promise<void>): void {
    this.#meanwhile.push(every(everyMs, work));
  }

  /** Starts nothing again; a start that is under way ends with the server's own `stop`. */
  stop(): void {
    this.#isStopped = true;
    for (const work of this.#meanwhile) void work.stop();
    for (const { timer } of this.#watched.values()) clearTimeout(timer);
  }

  #startSoon(name: string, how = 'before all had started'): void {
    if (this.#isStopped) return;
    const server = this.#servers?.[name];
    if (this.#servers === null) this.#endedEarly.add(name);
    if (server?.restart === undefined) return;
    const watched = this.#of(name);
    const delayMs = watched.delay.next(performance.now() - watched.upSince);
    this.onChange(`${name} ended (${how}); starting it again in ${delayMs} ms`);
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
          this.onChange(`${name} does not start (again in ${nextMs} ms): ${error.message}`);
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
