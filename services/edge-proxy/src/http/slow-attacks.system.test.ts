import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { makeSecret } from '@gateway/contracts/ids';
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
import { chat, send } from '../../test/client.js';
import { startEdgeWorld, type EdgeWorld } from '../../test/edge-world.js';

const PATH = '/v1/chat/completions';
const CONNECTIONS = 3_000;
const SECONDS = 12;
/** Generous, since the attack shares this machine: the test is about refusals, not speed. */
const CALL_MS_MAX = 30_000;
const GOOD_CALL_EVERY_MS = 50;

const missing = noSlowAttacks();
const describeAttacks = missing === null ? describe : describe.skip;

/** Sends a complete request from this address on a new connection, and returns its status. */
async function goodCall(port: number, localAddress: string): Promise<number> {
  const signal = AbortSignal.timeout(CALL_MS_MAX);
  return (await send(`http://127.0.0.1:${port}`, PATH, { ...chat(), localAddress, signal })).status;
}

describeAttacks(`3,000 slow connections of one host${missing === null ? '' : ` (${missing})`}`, () => {
  async function expectGoodCalls(mode: SlowMode, port: number): Promise<void> {
    const attack = startSlowAttack({
      mode,
      url: `http://127.0.0.1:${port}${mode === 'body' ? PATH : '/api/gateway/config'}`,
      connections: CONNECTIONS,
      seconds: SECONDS,
      bodyBytes: 16 * 1024,
      headers: { Authorization: `Bearer ${makeSecret('mgw_live_')}` },
    });
    try {
      const call = (localAddress: string): Promise<number> => goodCall(port, localAddress);
      const seen = await goodCallsDuring(attack, { call, everyMs: GOOD_CALL_EVERY_MS });
      expect([...seen.keys()]).toEqual(['200']);
      expect(seen.get('200')).toBeGreaterThanOrEqual(GOOD_CALLERS);
      expect(attack.connectedMost()).toBeGreaterThan(CONNECTIONS / 2);
    } finally {
      await attack.stop();
    }
  }

  describe('directly at an edge', () => {
    let world: EdgeWorld;
    beforeAll(async () => {
      world = await startEdgeWorld();
    }, 60_000);
    afterAll(() => world.stop(), 60_000);

    test.each(SLOW_MODES)(
      'slow %s connections cause no refusal of other clients',
      async (mode) => {
        await expectGoodCalls(mode, world.edge.port);
      },
      120_000,
    );
  });

  describe('through one trusted proxy', () => {
    let world: EdgeWorld;
    let proxy: ForwardingProxy;
    beforeAll(async () => {
      world = await startEdgeWorld({ env: { GATEWAY_EDGE_PROXIES: '1' } });
      proxy = await startForwardingProxy(world.edge.port);
    }, 60_000);
    afterAll(async () => {
      await proxy.close();
      await world.stop();
    }, 60_000);

    test.each(SLOW_MODES)(
      'slow %s connections through a proxy cause no refusal of other clients',
      async (mode) => {
        await expectGoodCalls(mode, proxy.port);
      },
      120_000,
    );
  });
});
