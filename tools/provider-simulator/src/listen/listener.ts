import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ListenerName } from '../scripts/script.js';

/**
 * Timeout of an idle connection in milliseconds: longer than any test, so that only scripts break
 * connections.
 */
const KEEP_ALIVE_MS = 600_000;
/** Connections that may wait to be accepted. The benchmark starts thousands of streams at once. */
const BACKLOG = 4096;

/** One of the two addresses. It keeps its port when it is closed and opened again. */
export class Listener {
  readonly name: ListenerName;
  readonly #host: string;
  readonly #serve: (listener: Listener, request: IncomingMessage, response: ServerResponse) => void;
  #port: number;
  #server: Server | undefined;

  constructor(
    name: ListenerName,
    host: string,
    port: number,
    serve: (listener: Listener, request: IncomingMessage, response: ServerResponse) => void,
  ) {
    this.name = name;
    this.#host = host;
    this.#port = port;
    this.#serve = serve;
  }

  /** Base URL without `/v1`; known after the first `open`. */
  get url(): string {
    return `http://${this.#host.includes(':') ? `[${this.#host}]` : this.#host}:${this.#port}`;
  }

  get isOpen(): boolean {
    return this.#server !== undefined;
  }

  /** Starts listening; does nothing while open. Rejects if the port is taken. */
  async open(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer({ keepAlive: true, noDelay: true }, (request, response) => {
      this.#serve(this, request, response);
    });
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    // No timeout, because a test may send its body slowly.
    server.requestTimeout = 0;
    this.#server = server;
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen({ host: this.#host, port: this.#port, backlog: BACKLOG }, resolve);
      });
    } catch (error) {
      this.#server = undefined;
      throw error;
    }
    this.#port = (server.address() as AddressInfo).port;
  }

  /** Resolves when new connections are refused and existing ones destroyed. */
  async close(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }
}
