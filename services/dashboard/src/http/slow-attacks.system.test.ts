import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  GOOD_CALLERS,
  goodCallsDuring,
  noSlowAttacks,
  SLOW_MODES,
  startForwardingProxy,
  startSlowAttack,
  type ForwardingProxy,
  type SlowMode,
} from '@gateway/testkit';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { startPagesWorld, type PagesWorld } from '../../test/pages-world.js';

const CONNECTIONS = 3_000;
const SECONDS = 12;
const CALL_MS_MAX = 10_000;
const GOOD_CALL_EVERY_MS = 50;
const LARGE_BYTES = 16 * 1024 * 1024;
/** Attacked paths: a page, a route without a session, and the largest public file. */
const ATTACKED: Readonly<Record<SlowMode, string>> = {
  headers: '/',
  body: '/api/sign-in',
  read: '/assets/large-1234.js',
};

const missing = noSlowAttacks();
const describeAttacks = missing === null ? describe : describe.skip;

/** Loads a page and its first API request from `localAddress`, on new connections. */
async function goodPage(port: number, localAddress: string): Promise<string> {
  const statuses: number[] = [];
  for (const path of ['/', '/api/config']) {
    const signal = AbortSignal.timeout(CALL_MS_MAX);
    const asked = request({ host: '127.0.0.1', port, path, localAddress, agent: false, signal }).end();
    const [response] = (await once(asked, 'response', { signal })) as [IncomingMessage];
    await once(response.resume(), 'end', { signal });
    statuses.push(response.statusCode ?? 0);
  }
  return statuses.join(' ');
}

async function expectGoodPages(mode: SlowMode, port: number): Promise<void> {
  const url = `http://127.0.0.1:${port}${ATTACKED[mode]}`;
  const attack = startSlowAttack({ mode, url, connections: CONNECTIONS, seconds: SECONDS, bodyBytes: 4_096 });
  try {
    const call = (localAddress: string): Promise<string> => goodPage(port, localAddress);
    const seen = await goodCallsDuring(attack, { call, everyMs: GOOD_CALL_EVERY_MS });
    expect([...seen.keys()]).toEqual(['200 200']);
    expect(seen.get('200 200')).toBeGreaterThanOrEqual(GOOD_CALLERS);
  } finally {
    await attack.stop();
  }
}

describeAttacks(`3,000 slow connections of one host${missing === null ? '' : ` (${missing})`}`, () => {
  describe('at the dashboard', () => {
    let world: PagesWorld;
    beforeAll(async () => {
      world = await startPagesWorld({}, { largeFileBytes: LARGE_BYTES });
    });
    afterAll(() => world.stop(), 60_000);

    test.each(SLOW_MODES)(
      'slow %s: no page request of other clients is refused',
      (mode) => expectGoodPages(mode, Number(new URL(world.dashboard.pagesUrl).port)),
      120_000,
    );
  });

  describe('through one trusted proxy', () => {
    let world: PagesWorld;
    let proxy: ForwardingProxy;
    beforeAll(async () => {
      world = await startPagesWorld({ GATEWAY_DASHBOARD_PROXIES: 1 }, { largeFileBytes: LARGE_BYTES });
      proxy = await startForwardingProxy(Number(new URL(world.dashboard.pagesUrl).port));
    });
    afterAll(async () => {
      await proxy.close();
      await world.stop();
    });

    test.each(SLOW_MODES)(
      'slow %s: no page request of other clients is refused',
      (mode) => expectGoodPages(mode, proxy.port),
      120_000,
    );
  });
});
