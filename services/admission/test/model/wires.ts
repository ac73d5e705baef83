import { Cluster } from 'ioredis';
import type { Command, Result, Wire } from './frozen-limit-store.js';
import { TextConnection } from './redis-text.js';

/** One server with one connection. Sends concurrent commands in one write. */
export class OneServer implements Wire {
  #connection: TextConnection | null = null;

  constructor(private readonly url: string) {}

  async open(): Promise<void> {
    this.#connection = await TextConnection.open(this.url);
  }

  close(): void {
    this.#connection?.close();
  }

  async loadScript(text: string): Promise<string> {
    return String(await this.#one(['script', 'LOAD', text]));
  }

  exec(commands: readonly Command[]): Promise<readonly Result[]> {
    if (this.#connection === null) throw new Error('the connection was not opened');
    return this.#connection.exec(commands);
  }

  async keysOf(prefix: string): Promise<string[]> {
    return (await this.#one(['keys', `${prefix}*`])) as string[];
  }

  async #one(command: Command): Promise<unknown> {
    const [[error, reply] = [new Error('no reply'), null]] = await this.exec([command]);
    if (error) throw error;
    return reply;
  }
}

/** A cluster. Each command goes to the server with its slot, and fails if its keys have several. */
export class ClusterServers implements Wire {
  readonly #cluster: Cluster;

  constructor(ports: readonly number[]) {
    this.#cluster = new Cluster(
      ports.map((port) => ({ host: '127.0.0.1', port })),
      { lazyConnect: true, slotsRefreshTimeout: 5_000, redisOptions: { connectTimeout: 5_000 } },
    );
  }

  open(): Promise<void> {
    return this.#cluster.connect();
  }

  close(): void {
    this.#cluster.disconnect();
  }

  async loadScript(text: string): Promise<string> {
    const shas = await Promise.all(this.#cluster.nodes('master').map((node) => node.script('LOAD', text)));
    return String(shas[0]);
  }

  exec(commands: readonly Command[]): Promise<readonly Result[]> {
    return Promise.all(
      commands.map(([name, ...args]) =>
        this.#cluster.call(name, ...args).then(
          (reply): Result => [null, reply],
          (error: Error): Result => [error, null],
        ),
      ),
    );
  }

  async keysOf(prefix: string): Promise<string[]> {
    const keys = await Promise.all(this.#cluster.nodes('master').map((node) => node.keys(`${prefix}*`)));
    return keys.flat();
  }

  /** Returns the number of script runs per server. */
  async scriptsRun(): Promise<number[]> {
    const facts = await Promise.all(this.#cluster.nodes('master').map((node) => node.info('commandstats')));
    return facts.map((text) => Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(text)?.[1] ?? 0));
  }
}
