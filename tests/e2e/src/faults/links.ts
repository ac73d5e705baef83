import { SERVICES } from '@gateway/local';
import type { Addresses } from '@gateway/local';
import { urlsOf } from '@gateway/service-kit';
import { startTcpProxy } from './tcp-proxy.js';
import type { TcpProxy } from './tcp-proxy.js';

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

  /** Puts a proxy before a port and returns the port of the proxy. */
  async addPort(name: string, port: number): Promise<number> {
    const proxy = await startTcpProxy(port);
    this.#proxies.set(name, proxy);
    return proxy.port;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy.close()));
  }
}
