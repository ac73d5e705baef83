import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { type Addresses, SERVICES } from '@gateway/local';
import { urlsOf } from '@gateway/service-kit';

export interface TcpProxy {
  readonly port: number;
  readonly connections: number;
  /** Breaks every connection in both directions, like a router that lost its state. */
  reset(): void;
  /**
   * Stops all traffic until {@link TcpProxy.restore}. Connections stay open and new ones are
   * accepted.
   */
  stall(): void;
  /** Delays every byte by this time until {@link TcpProxy.restore}. The order stays. */
  delay(milliseconds: number): void;
  restore(): void;
  close(): Promise<void>;
}

interface Pair {
  readonly outer: Socket;
  readonly inner: Socket;
  readonly flows: readonly Flow[];
}

/**
 * Listens on a free port of the loopback address and relays every connection to another port there.
 */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const passage: Passage = { delayMs: 0, isStalled: false };
  const pairs = new Set<Pair>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (outer) => {
    const inner = connect({ host: '127.0.0.1', port: targetPort, allowHalfOpen: true, noDelay: true });
    const pair: Pair = { outer, inner, flows: [new Flow(outer, inner, passage), new Flow(inner, outer, passage)] };
    pairs.add(pair);
    // An error on one side resets the other: an orderly end would make a cut response look
    // complete.
    outer.on('error', () => breakOff(inner));
    inner.on('error', () => breakOff(outer));
    outer.on('close', () => pairs.delete(pair));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return pairs.size;
    },
    reset() {
      for (const { outer, inner } of pairs) {
        breakOff(outer);
        breakOff(inner);
      }
    },
    stall() {
      passage.isStalled = true;
    },
    delay(milliseconds) {
      passage.delayMs = milliseconds;
    },
    restore() {
      passage.isStalled = false;
      passage.delayMs = 0;
      for (const { flows } of pairs) for (const flow of flows) flow.go();
    },
    close() {
      for (const { outer, inner } of pairs) {
        outer.destroy();
        inner.destroy();
      }
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/**
 * Resets a socket. A socket that is not connected yet, or that has ended its side, is destroyed: a
 * reset would never close it.
 */
function breakOff(socket: Socket): void {
  if (socket.connecting || socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

export interface Passage {
  delayMs: number;
  isStalled: boolean;
}

/** Limit of the buffer for one direction of a connection. Above it, the sender is paused. */
const HELD_BYTES_MAX = 256 * 1024;

interface Piece {
  /** Null: the sender has ended its side. */
  readonly bytes: Buffer | null;
  /** Earliest time to send the bytes: monotonic clock, milliseconds. */
  readonly dueAt: number;
}

/** One direction of a connection. Relays bytes in order as the state of the proxy permits. */
export class Flow {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #passage: Passage;
  readonly #held: Piece[] = [];
  #heldBytes = 0;
  #isFull = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(from: Socket, to: Socket, passage: Passage) {
    this.#from = from;
    this.#to = to;
    this.#passage = passage;
    from.on('data', (bytes: Buffer) => this.#take(bytes));
    from.on('end', () => this.#take(null));
    from.on('close', () => clearTimeout(this.#timer));
    to.on('drain', () => {
      this.#isFull = false;
      this.go();
    });
  }

  /** Sends all bytes that are due. Called again after each change of the proxy's state. */
  go(): void {
    clearTimeout(this.#timer);
    for (let next = this.#held[0]; next !== undefined; next = this.#held[0]) {
      if (this.#passage.isStalled || this.#isFull || this.#to.destroyed) break;
      const waitMs = next.dueAt - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.go(), waitMs);
        break;
      }
      this.#held.shift();
      this.#heldBytes -= next.bytes?.length ?? 0;
      this.#pass(next.bytes);
    }
    if (this.#heldBytes > HELD_BYTES_MAX) this.#from.pause();
    else if (!this.#isFull) this.#from.resume();
  }

  #take(bytes: Buffer | null): void {
    const { delayMs, isStalled } = this.#passage;
    // Usually nothing is buffered.
    if (delayMs === 0 && !isStalled && !this.#isFull && this.#held.length === 0) {
      this.#pass(bytes);
      if (this.#isFull) this.#from.pause();
      return;
    }
    this.#held.push({ bytes, dueAt: performance.now() + delayMs });
    this.#heldBytes += bytes?.length ?? 0;
    this.go();
  }

  #pass(bytes: Buffer | null): void {
    if (this.#to.destroyed) return;
    if (bytes === null) this.#to.end();
    else this.#isFull = !this.#to.write(bytes);
  }
}

type LedgerService = Parameters<Addresses['postgresUrlOf']>[0];
const SENTINELS = 'redis+sentinel:';
const LEDGER_SERVICES: readonly LedgerService[] = ['billing', 'accounts', 'catalog'];

/**
 * The links between the processes of a system, each through a separate proxy: `edge-proxy to nats`,
 * `edge-proxy to a`.
 */
export class Links {
  readonly #proxies = new Map<string, TcpProxy>();

  get names(): readonly string[] {
    return [...this.#proxies.keys()];
  }

  named(name: string): TcpProxy {
    const proxy = this.#proxies.get(name);
    if (proxy === undefined) throw new Error(`there is no link ${name}`);
    return proxy;
  }

  /** Returns addresses with a proxy between each service and each server. */
  async between(own: Addresses): Promise<Addresses> {
    const nats = new Map<string, string>();
    for (const service of SERVICES) {
      nats.set(service, await this.add(`${service} to nats`, own.natsUrlOf(service)));
    }
    const postgres = new Map<string, string>();
    for (const service of LEDGER_SERVICES) {
      postgres.set(service, await this.add(`${service} to postgres`, own.postgresUrlOf(service)));
    }
    return {
      ...own,
      natsUrlOf: (service) => nats.get(service) ?? own.natsUrlOf(service),
      postgresUrlOf: (service) => postgres.get(service) ?? own.postgresUrlOf(service),
      // Sentinels report addresses of servers, which no proxy can replace.
      redisUrl: own.redisUrl.startsWith(SENTINELS) ? own.redisUrl : await this.add('admission to redis', own.redisUrl),
    };
  }

  /**
   * Puts a proxy before each server of a URL and returns the URL of the proxies. If there are
   * several servers, each link has a number: `billing to postgres-2`.
   */
  async add(name: string, target: string): Promise<string> {
    const urls = urlsOf(target);
    let through = target;
    for (const [index, text] of urls.entries()) {
      const url = new URL(text);
      const port = await this.addPort(urls.length > 1 ? `${name}-${index + 1}` : name, Number(url.port));
      through = through.replace(url.host, `${url.hostname}:${port}`);
    }
    return through;
  }

  async addPort(name: string, port: number): Promise<number> {
    const proxy = await startTcpProxy(port);
    this.#proxies.set(name, proxy);
    return proxy.port;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy.close()));
  }
}
