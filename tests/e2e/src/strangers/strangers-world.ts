import { startForwardingProxy, type ForwardingProxy } from '@gateway/testkit';
import { startOwnSystem, type OwnSystem } from '../../test/own-system.js';
import { PRICES } from '../../test/prices.js';
import type { TestOperator } from '../../test/operator.js';
import { sendRequest } from './send-request.js';
import type { AttackTarget } from './attack.js';
import type { GoodTarget } from './good-load.js';
import { startRepeatingProvider, type RepeatingProvider } from './repeating-provider.js';

export interface StrangersOptions {
  readonly name: string;
  /** Trusted proxies before both public listeners: 0 or 1. */
  readonly hops: number;
}

const CREDIT_USD = '1000000';
const PER_MINUTE_MAX = 1_000_000;
const SLOTS_MAX = 500;
const REPLICAS = { 'edge-proxy': 1, admission: 1 };

/**
 * A system with one replica of each service, a provider, and accounts for the valid load and the
 * attacker.
 */
export class StrangersWorld {
  private constructor(
    readonly system: OwnSystem,
    readonly attacked: AttackTarget,
    readonly good: GoodTarget,
    /** Stops the system, the proxies and the provider. May be called twice. */
    readonly end: () => Promise<void>,
  ) {}

  static async begin({ name, hops }: StrangersOptions): Promise<StrangersWorld> {
    const env = hops === 0 ? {} : { GATEWAY_EDGE_PROXIES: String(hops), GATEWAY_DASHBOARD_PROXIES: String(hops) };
    const provider = await startRepeatingProvider();
    const proxies: ForwardingProxy[] = [];
    let system: OwnSystem | undefined;
    let ending: Promise<void> | undefined;
    const end = (): Promise<void> => (ending ??= endAll(proxies, system, provider));
    try {
      system = await startOwnSystem(name, env, REPLICAS);
      const { edgeUrl, dashboardUrl, operatorUrl, operatorToken } = system.local.running();
      const behind = async (url: string): Promise<number> => {
        if (hops === 0) return Number(new URL(url).port);
        const proxy = await startForwardingProxy(Number(new URL(url).port));
        proxies.push(proxy);
        return proxy.port;
      };
      const ports = {
        edgePort: await behind(edgeUrl),
        pagesPort: await behind(dashboardUrl),
        operatorPort: Number(new URL(operatorUrl).port),
      };
      const { operator } = system;
      const { id: modelId } = await operator.model(PRICES, [provider.url]);
      const attacker = await makeAccount(operator);
      const account = await makeAccount(operator);
      const largeFile = await findLargeFile(ports.pagesPort);
      return new StrangersWorld(
        system,
        { ...ports, modelId, secret: attacker.secret, largeFile },
        { ...ports, modelId, ...account, operatorToken, pagesOrigin: dashboardUrl },
        end,
      );
    } catch (error) {
      await end();
      throw error;
    }
  }
}

async function endAll(
  proxies: readonly ForwardingProxy[],
  system: OwnSystem | undefined,
  provider: RepeatingProvider,
): Promise<void> {
  await Promise.all(proxies.map((proxy) => proxy.close()));
  await system?.stop();
  await provider.close();
}

async function makeAccount(operator: TestOperator): Promise<{ account: string; secret: string }> {
  const { account, secret } = await operator.account(CREDIT_USD);
  await operator.limits(account, PER_MINUTE_MAX, SLOTS_MAX);
  return { account, secret };
}

/** Returns the largest of the files that the home page references. */
async function findLargeFile(port: number): Promise<string> {
  const { text } = await sendRequest({ port, method: 'GET', path: '/' });
  const paths = [...text.matchAll(/"(\/assets\/[^"]+\.js)"/g)].flatMap(([, path]) => path ?? []);
  const sizes = await Promise.all(
    paths.map(async (path) => (await sendRequest({ port, method: 'GET', path })).text.length),
  );
  const largest = paths[sizes.indexOf(Math.max(...sizes))];
  if (largest === undefined) throw new Error('the home page references no file; build the pages first');
  return largest;
}
