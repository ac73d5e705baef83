import type { RunningServer, ServerName } from '@gateway/servers';
import { RestartDelay } from './restart-delay.js';

type Keepable = Pick<RunningServer, 'pid' | 'restart'>;

interface Kept {
  readonly delay: RestartDelay;
  upSince: number;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Starts servers again that ended unasked, each with a back-off of its own, as children are. Never beside another one: the one
 * before has ended, and whoever stopped it or started it again meanwhile is left alone. Of servers that were given by URL or run
 * in an engine nobody tells that they ended.
 */
export class ServerKeeper {
  readonly #kept = new Map<ServerName, Kept>();
  /** Null until all have started. */
  #servers: Readonly<Partial<Record<ServerName, Keepable>>> | null = null;
  readonly #endedEarly = new Set<ServerName>();
  #isStopped = false;

  /** @param onChange told when a server ended, and when it is ready again */
  constructor(private readonly onChange: (text: string) => void) {}

  /** From now on what ends is started again, and what has ended before. */
  keep(servers: Readonly<Partial<Record<ServerName, Keepable>>>): void {
    this.#servers = servers;
    for (const name of this.#endedEarly) this.#startSoon(name);
    this.#endedEarly.clear();
  }

  /** To be told of a server that ended unasked; `code` is null after a signal. */
  ended(name: ServerName, code: number | null): void {
    const how = code === null ? 'signal' : `code ${code}`;
    this.#startSoon(name, how);
  }

  /** Nothing is started again; a start that is under way ends with the server's own `stop`. */
  stop(): void {
    this.#isStopped = true;
    for (const { timer } of this.#kept.values()) clearTimeout(timer);
  }

  #startSoon(name: ServerName, how = 'before all had started'): void {
    if (this.#isStopped) return;
    const server = this.#servers?.[name];
    if (this.#servers === null) this.#endedEarly.add(name);
    if (server?.restart === undefined) return;
    const kept = this.#of(name);
    const delayMs = kept.delay.next(performance.now() - kept.upSince);
    this.onChange(`${name} ended (${how}); starting it again in ${delayMs} ms`);
    this.#startIn(delayMs, name, server, performance.now());
  }

  #startIn(delayMs: number, name: ServerName, server: Keepable, endedAt: number): void {
    const kept = this.#of(name);
    clearTimeout(kept.timer);
    kept.timer = setTimeout(() => {
      server.restart?.({ ifEnded: true }).then(
        () => {
          if (server.pid === null) return;
          kept.upSince = performance.now();
          const seconds = ((kept.upSince - endedAt) / 1_000).toFixed(1);
          this.onChange(`${name} is ready again after ${seconds} s (pid ${server.pid})`);
        },
        (error: Error) => {
          if (this.#isStopped) return;
          const nextMs = kept.delay.next(0);
          this.onChange(`${name} does not start (again in ${nextMs} ms): ${error.message}`);
          this.#startIn(nextMs, name, server, endedAt);
        },
      );
    }, delayMs);
  }

  #of(name: ServerName): Kept {
    const kept = this.#kept.get(name) ?? { delay: new RestartDelay(), upSince: 0, timer: undefined };
    this.#kept.set(name, kept);
    return kept;
  }
}
