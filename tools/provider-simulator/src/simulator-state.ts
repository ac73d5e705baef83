import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CallLog } from './call/call-log.js';
import type { ScriptQueue, Semaphores } from './scripts/queues.js';
import type { ListenerName } from './scripts/script.js';

/** Counts since the start. */
export interface SimulatorCounters {
  calls: Record<ListenerName, number>;
  /** Calls whose client disconnected before the response ended. */
  aborted: number;
}

/** The state that both listeners share. */
export interface SimulatorState {
  /** The number of the latest call. */
  seq: number;
  scripts: ScriptQueue;
  semaphores: Semaphores;
  /** Undefined if calls are not recorded. */
  log: CallLog | undefined;
  /** Milliseconds between the events of a stream. */
  chunkDelayMs: number;
  requireKey: string | undefined;
  counters: SimulatorCounters;
}

/**
 * Timeout of an idle connection in milliseconds: longer than any test, so that only scripts break
 * connections.
 */
const KEEP_ALIVE_MS = 600_000;
/** Connections that may wait to be accepted. The benchmark starts thousands of streams at once. */
const BACKLOG = 4096;

/** One of the two addresses. It keeps its port when it is closed and opened again. */
export class Listener {
  #server: Server | undefined;

  constructor(
    readonly name: ListenerName,
    private readonly host: string,
    private port: number,
    private readonly serve: (request: IncomingMessage, response: ServerResponse) => void,
  ) {}

  /** Base URL without `/v1`; known after the first `open`. */
  get url(): string {
    return `http://${this.host.includes(':') ? `[${this.host}]` : this.host}:${this.port}`;
  }

  get isOpen(): boolean {
    return this.#server !== undefined;
  }

  /** Starts listening; does nothing while open. Rejects if the port is taken. */
  async open(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer({ keepAlive: true, noDelay: true }, this.serve);
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    // No timeout, because a test may send its body slowly.
    server.requestTimeout = 0;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: this.host, port: this.port, backlog: BACKLOG }, resolve);
    });
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  /** Resolves when new connections are refused and existing ones destroyed. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }
}
