import { startProviderSimulator } from '@gateway/provider-simulator';
import { startOwnSystem, type OwnSystem } from '../../test/own-system.js';
import { PRICES } from '../../test/prices.js';
import { EXPENSIVE_TEXT, type AttackTarget } from './attacks.js';
import { sendRequest, type ValidTarget } from './valid-load.js';

const CALLS_MAX = 1_000_000_000;

export type AttackedSystem = Awaited<ReturnType<typeof startAttackedSystem>>;

/** Starts a system with one replica of each service. */
export async function startAttackedSystem(name: string) {
  const provider = await startProviderSimulator({ recordCalls: false });
  let own: OwnSystem | undefined;
  const end = async (): Promise<void> => {
    await own?.stop();
    await provider.close();
  };
  try {
    own = await startOwnSystem(name, {}, { 'edge-proxy': 1, admission: 1 });
    const { operator, local } = own;
    const { edgeUrl, dashboardUrl, operatorUrl, operatorToken } = local.running();
    const [edgePort = 0, pagesPort = 0, operatorPort = 0] = [edgeUrl, dashboardUrl, operatorUrl].map((url) =>
      Number(new URL(url).port),
    );
    const ports = { edgePort, pagesPort, operatorPort };
    const createModel = async (upstreamModel: string): Promise<string> =>
      (await operator.model(PRICES, [provider.urls[0]], { upstreamModel })).id;
    const createAccount = async () => {
      const created = await operator.account('1000000');
      await operator.limits(created.account, 1_000_000, 500);
      return created;
    };
    const error = JSON.stringify({ error: { message: EXPENSIVE_TEXT, type: 'invalid_request_error' } });
    provider.script({ model: 'refusing', times: CALLS_MAX, steps: [{ status: 400 }, { chunk: error }] });
    const { secret } = await createAccount();
    const modelId = await createModel('serving');
    const attacked: AttackTarget = {
      ...ports,
      largeFile: await findLargeFile(ports.pagesPort),
      secret,
      modelId,
      largeModelId: await createModel('large-bytes2097152'),
      refusingModelId: await createModel('refusing'),
    };
    const account = await createAccount();
    const valid: ValidTarget = { ...ports, modelId, ...account, operatorToken, pagesOrigin: dashboardUrl };
    return { own, attacked, valid, end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Returns the largest script of the home page. */
async function findLargeFile(port: number): Promise<string> {
  const { text } = await sendRequest({ port, method: 'GET', path: '/' });
  const paths = [...text.matchAll(/"(\/assets\/[^"]+\.js)"/g)].flatMap(([, path]) => path ?? []);
  const texts = await Promise.all(paths.map((path) => sendRequest({ port, method: 'GET', path })));
  const sizes = texts.map((response) => response.text.length);
  const largest = paths[sizes.indexOf(Math.max(...sizes))];
  if (largest === undefined) throw new Error('the home page references no file; build the pages first');
  return largest;
}
