import { startForwardingProxy, type ForwardingProxy } from '@gateway/testkit';
import { startOwnSystem, type OwnSystem } from '../../test/own-system.js';
import { PRICES } from '../../test/prices.js';
import type { TestOperator } from '../../test/operator.js';
import type { Topology } from '../runner/scenario.js';
import type { AttackTarget } from './attack.js';
import { startRepeatingProvider } from './repeating-provider.js';
import { sendRequest } from './send-request.js';
import type { ValidTarget } from './valid-load.js';

export const ATTACKED_TOPOLOGY = { replicas: { 'edge-proxy': 1, admission: 1 } } as const;
const CREDIT_USD = '1000000';
const PER_MINUTE_MAX = 1_000_000;
const SLOTS_MAX = 500;

export interface AttackedSystem {
  readonly own: OwnSystem;
  readonly attacked: AttackTarget;
  readonly valid: ValidTarget;
  end(): Promise<void>;
}

/** @param hops trusted proxies before both public listeners: 0 or 1 */
export async function startAttackedSystem(name: string, { replicas }: Topology, hops = 0): Promise<AttackedSystem> {
  const env = hops === 0 ? {} : { GATEWAY_EDGE_PROXIES: String(hops), GATEWAY_DASHBOARD_PROXIES: String(hops) };
  const provider = await startRepeatingProvider();
  const proxies: ForwardingProxy[] = [];
  let own: OwnSystem | undefined;
  const end = async (): Promise<void> => {
    await Promise.all(proxies.map((proxy) => proxy.close()));
    await own?.stop();
    await provider.close();
  };
  const openPort = async (url: string): Promise<number> => {
    const port = Number(new URL(url).port);
    if (hops === 0) return port;
    const proxy = await startForwardingProxy(port);
    proxies.push(proxy);
    return proxy.port;
  };
  try {
    own = await startOwnSystem(name, env, replicas);
    const { operator, local } = own;
    const { edgeUrl, dashboardUrl, operatorUrl, operatorToken } = local.running();
    const operatorPort = Number(new URL(operatorUrl).port);
    const ports = { edgePort: await openPort(edgeUrl), pagesPort: await openPort(dashboardUrl), operatorPort };
    const { id: modelId } = await operator.model(PRICES, [provider.url]);
    const { secret } = await createAccount(operator);
    const largeFile = await findLargeFile(ports.pagesPort);
    return {
      own,
      attacked: { ...ports, modelId, secret, largeFile },
      valid: { ...ports, modelId, ...(await createAccount(operator)), operatorToken, pagesOrigin: dashboardUrl },
      end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}

async function createAccount(operator: TestOperator): Promise<{ account: string; secret: string }> {
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
