import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type Addresses, SERVICES } from '@gateway/local';
import { urlsOf } from '@gateway/service-kit';
import { LEDGER_SERVICES } from '@gateway/setup';

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

/**
 * Listens on a free port of the loopback address and relays every connection to another port there.
 */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const passage: Passage = { delayMs: 0, stalled: null, restore: () => undefined };
  /** Both sockets of each connection. */
  const pairs = new Set<readonly [Socket, Socket]>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (outer) => {
    const inner = connect({ host: '127.0.0.1', port: targetPort, allowHalfOpen: true, noDelay: true });
    const pair = [outer, inner] as const;
    pairs.add(pair);
    // An error on one side resets the other: an orderly end would make a cut response look
    // complete.
    outer.on('error', () => breakOff(inner)).on('close', () => pairs.delete(pair));
    inner.on('error', () => breakOff(outer));
    outer.pipe(new Flow(passage)).pipe(inner).pipe(new Flow(passage)).pipe(outer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return pairs.size;
    },
    reset() {
      for (const socket of [...pairs].flat()) breakOff(socket);
    },
    stall() {
      passage.stalled ??= new Promise((resolve) => {
        passage.restore = resolve;
      });
    },
    delay(milliseconds) {
      passage.delayMs = milliseconds;
    },
    restore() {
      passage.delayMs = 0;
      passage.stalled = null;
      passage.restore();
    },
    close() {
      for (const socket of [...pairs].flat()) socket.destroy();
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

interface Passage {
  delayMs: number;
  /** Null while traffic flows; resolves at `restore`. */
  stalled: Promise<void> | null;
  restore: () => void;
}

/** Bytes that one direction of a connection holds back. Above it, the sender is paused. */
const HELD_BYTES_MAX = 256 * 1024;

/** One direction of a connection. Relays bytes in order as the state of the proxy permits. */
class Flow extends Transform {
  #heldBytes = 0;
  /** Resolves when all held bytes have passed; null without held bytes. */
  #passed: Promise<void> | null = null;

  constructor(private readonly passage: Passage) {
    super();
  }

  override _transform(bytes: Buffer, _encoding: string, done: (error: null, bytes?: Buffer) => void): void {
    const { delayMs, stalled } = this.passage;
    // Usually nothing is held.
    if (delayMs === 0 && stalled === null && this.#passed === null) return done(null, bytes);
    this.#heldBytes += bytes.length;
    const passed = this.#pass(bytes, performance.now() + delayMs, this.#passed);
    this.#passed = passed;
    if (this.#heldBytes <= HELD_BYTES_MAX) done(null);
    else void passed.then(() => done(null));
  }

  /** Relays the end of the sender's side after all held bytes. */
  override _flush(done: () => void): void {
    void this.#whenOpen(performance.now() + this.passage.delayMs, this.#passed).then(done);
  }

  async #pass(bytes: Buffer, dueAt: number, before: Promise<void> | null): Promise<void> {
    await this.#whenOpen(dueAt, before);
    this.push(bytes);
    this.#heldBytes -= bytes.length;
    if (this.#heldBytes === 0) this.#passed = null;
  }

  async #whenOpen(dueAt: number, before: Promise<void> | null): Promise<void> {
    await before;
    if (performance.now() < dueAt) await delay(dueAt - performance.now());
    while (this.passage.stalled !== null) await this.passage.stalled;
  }
}

/** Sentinels report addresses of servers, which no proxy can replace. */
const SENTINELS = 'redis+sentinel:';

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
    const urls = new Map<string, string>();
    const add = async (name: string, url: string): Promise<unknown> => urls.set(name, await this.add(name, url));
    for (const service of SERVICES) await add(`${service} to nats`, own.natsUrlOf(service));
    for (const service of LEDGER_SERVICES) await add(`${service} to postgres`, own.postgresUrlOf(service));
    if (!own.redisUrl.startsWith(SENTINELS)) await add('admission to redis', own.redisUrl);
    return {
      ...own,
      natsUrlOf: (service) => urls.get(`${service} to nats`) ?? own.natsUrlOf(service),
      postgresUrlOf: (service) => urls.get(`${service} to postgres`) ?? own.postgresUrlOf(service),
      redisUrl: urls.get('admission to redis') ?? own.redisUrl,
    };
  }

  /**
   * Puts a proxy before each server of a URL and returns the URL of the proxies. If there are
   * several servers, each link has a number: `billing to postgres-2`.
   */
  async add(name: string, target: string): Promise<string> {
    const urls = urlsOf(target).map((text) => new URL(text));
    let through = target;
    for (const [index, { host, hostname, port }] of urls.entries()) {
      const proxyPort = await this.addPort(urls.length > 1 ? `${name}-${index + 1}` : name, Number(port));
      through = through.replace(host, `${hostname}:${proxyPort}`);
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
