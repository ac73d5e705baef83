import { once } from 'node:events';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CallLog } from './call/call-log.js';
import type { ScriptQueue, Semaphores } from './scripts/queues.js';
import type { ListenerName } from './scripts/script.js';

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
}

/** Largest accepted body: 32 MiB, above the gateway's limit, so that tests reach that one first. */
export const BODY_BYTES_MAX = 33_554_432;

/** A body. `left`: the client closed the connection before its end. */
export interface Received {
  readonly outcome: 'complete' | 'too large' | 'left';
  readonly bytes: Buffer;
}

/** Collects a body and calls back once, without promises: the benchmark uses this path. */
export function readBody(request: IncomingMessage, done: (received: Received) => void): void {
  const chunks: Buffer[] = [];
  let length = 0;
  let isDone = false;
  const finish = (outcome: Received['outcome']): void => {
    if (isDone) return;
    isDone = true;
    done({ outcome, bytes: Buffer.concat(outcome === 'too large' ? [] : chunks) });
  };
  request.on('data', (chunk: Buffer) => {
    if (isDone) return;
    length += chunk.length;
    chunks.push(chunk);
    if (length > BODY_BYTES_MAX) finish('too large');
  });
  request.once('end', () => finish('complete'));
  request.once('error', () => finish('left'));
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
    await once(server.listen({ host: this.host, port: this.port, backlog: BACKLOG }), 'listening');
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  /** Resolves when new connections are refused and existing ones destroyed. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = once(server.close(), 'close');
    server.closeAllConnections();
    await closed;
  }
}
