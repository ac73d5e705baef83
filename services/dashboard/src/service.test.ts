import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import { ACCOUNT } from '../test/examples.js';
import { errorOf, startOperatorWorld, type OperatorWorld } from '../test/operator-world.js';

let world: OperatorWorld | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

test('the dashboard is ready while the bus is connected and responds 503 otherwise', async () => {
  world = await startOperatorWorld(undefined, { own: true });
  const { bus, ready, send } = world;
  world.scriptByName('accounts.get-account', () => ({ account: ACCOUNT }));
  expect(ready.report()).toEqual({ ready: true, checks: { bus: 'ok' } });
  await bus.nats.stop();
  await until('not ready', () => !ready.report().ready);
  const began = performance.now();
  const answer = await send('GET', '/accounts/acc_1');
  expect([answer.status, errorOf(answer).code]).toEqual([503, 'dependency_unavailable']);
  expect(performance.now() - began).toBeLessThan(5_000);
  expect((await send('GET', '/openapi.json')).status).toBe(200);
});

test('a request to a service that does not run gets 503', async () => {
  world = await startOperatorWorld(['billing']);
  const answer = await world.send('GET', '/accounts/acc_1');
  expect([answer.status, errorOf(answer).code]).toEqual([503, 'dependency_unavailable']);
});

test('a stop finishes running requests and accepts no new ones', async () => {
  world = await startOperatorWorld();
  const { dashboard, asked, scriptByName, send } = world;
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  scriptByName('accounts.get-account', async () => {
    await released;
    return { account: ACCOUNT };
  });
  const running = send('GET', '/accounts/acc_1');
  await until('it is asked', () => asked.length === 1);
  const stopped = dashboard.stop();
  const late = connect(dashboard.operatorPort, '127.0.0.1');
  const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ECONNREFUSED');
  release();
  expect((await running).status).toBe(200);
  await stopped;
});

test.each([
  ['pages', ['pages']],
  ['operator', ['operator']],
  ['both', ['operator', 'pages']],
] as const)('the dashboard opens only its listeners when it serves %s', async (serves, wanted) => {
  world = await startOperatorWorld(undefined, { config: { GATEWAY_DASHBOARD_LISTENERS: serves } });
  const { operatorUrl, operatorPort, pagesUrl } = world.dashboard;
  const opened = [...(operatorUrl === '' ? [] : ['operator']), ...(pagesUrl === '' ? [] : ['pages'])];
  expect([opened, operatorPort > 0]).toEqual([wanted, operatorUrl !== '']);
  const logged = world.log.lines.map((line) => JSON.stringify(line)).join();
  expect(logged.includes('the operator API listens')).toBe(serves !== 'pages');
  expect(logged.includes('the dashboard listens')).toBe(serves !== 'operator');
  if (operatorUrl !== '') expect((await world.send('GET', '/openapi.json')).status).toBe(200);
  if (pagesUrl !== '') expect((await fetch(`${pagesUrl}/api/config`)).status).toBe(200);
});
