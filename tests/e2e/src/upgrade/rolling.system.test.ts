import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { publicKeyOf, type LocalService } from '@gateway/local';
import { findPostgresTools } from '@gateway/setup';
import { temporaryDirectory, until } from '@gateway/testkit';
import { get } from '../../test/call.js';
import { checkEvidence } from '../evidence/check-evidence.js';
import { loseDatabase } from './lose-database.js';
import { runProgram } from './run-program.js';
import type { FaultRun } from '../faults/fault-run.js';
import { beginRollingRun, SteadyLoad } from './rolling-run.js';

/**
 * `npm run verify:faults -- upgrade` holds five times as many streams open and replaces every
 * service twice.
 */
const STREAMS = 100;
const ROLLED: readonly (readonly [LocalService, number])[] = [
  ['edge-proxy', 0],
  ['admission', 0],
  ['billing', 0],
  ['admission', 1],
  ['edge-proxy', 1],
];

/**
 * Requests between the backup and the loss of the database. `npm run verify:faults -- restore`
 * sends thousands.
 */
const CALLS_AFTER_BACKUP = 60;
const OLDEST_SERVER = 14;
const SECRET_BYTES = 32;
const withTools = findPostgresTools(OLDEST_SERVER, process.env) === null ? test.skip : test;

let run: FaultRun;
beforeAll(async () => {
  run = await beginRollingRun('rolling');
}, 60_000);
afterAll(async () => {
  await run?.end();
}, 60_000);

test(`replacing edges, admissions and billing under ${STREAMS} streams loses no call`, async () => {
  const load = await SteadyLoad.start(run, STREAMS);
  try {
    for (const [service, index] of ROLLED) {
      const { open, carried, lastLines } = await load.replace(service, index);
      expect([service, open >= STREAMS]).toEqual([service, true]);
      // The old process has stopped normally.
      expect(lastLines).toMatch(/"text":"stopped"}$/);
      if (service !== 'edge-proxy') continue;
      // The old edge has finished streams that were open when it received the stop signal.
      expect(carried.length).toBeGreaterThan(STREAMS / 4);
      await until('the streams of the old edge have ended', () =>
        carried.every((one) => run.seen.some(({ n }) => n === one)),
      );
    }
  } finally {
    await load.stop();
  }
  const evidence = await run.evidence();
  const { violations, counterExample } = checkEvidence(evidence);
  if (violations.length > 0) throw new Error([...violations, counterExample].join('\n'));
  const { calls } = evidence;
  const other = calls.filter(({ status, ending }) => status !== 200 || ending !== 'whole');
  expect(other).toEqual([]);
  expect(calls.length).toBeGreaterThan(2 * STREAMS);
  // No request was sent to the provider twice, and none has two records.
  expect(evidence.provider).toHaveLength(calls.length);
  expect(evidence.records.filter(({ outcome }) => outcome === 'settled')).toHaveLength(calls.length);
}, 120_000);

withTools(
  'a restored database settles each call exactly once (needs pg_dump)',
  async () => {
    const directory = temporaryDirectory('backup');
    try {
      const { system } = run;
      const load = await SteadyLoad.start(run, STREAMS);
      const restored = await loseDatabase(run, join(directory.path, 'made'), CALLS_AFTER_BACKUP);
      await load.stop();
      expect(restored.settledAgain).toBeGreaterThanOrEqual(CALLS_AFTER_BACKUP);
      const { code, output } = await runProgram('restore', ['--from', join(directory.path, 'made')], system);
      expect([code, output]).toEqual([2, expect.stringContaining('stop billing, accounts and catalog first')]);
      const { postgresPassword, rolePasswords } = system.local.secrets;
      for (const password of [postgresPassword, ...Object.values(rolePasswords)]) {
        expect(restored.output + output).not.toContain(password);
      }
      const evidence = await run.evidence();
      const { violations, counterExample } = checkEvidence(evidence);
      if (violations.length > 0) throw new Error([...violations, counterExample].join('\n'));
      expect(await restored.checkEntered()).toEqual([]);
      const audit = await runProgram('audit', [], system);
      expect([audit.code, audit.output]).toEqual([0, expect.stringContaining('0 differences')]);
    } finally {
      directory.remove();
    }
  },
  180_000,
);

/**
 * Services that read a secret. The edges and billing are replaced first, because keys and
 * credentials under a new secret reach them immediately.
 */
const READ_SECRETS: readonly (readonly (readonly [LocalService, number])[])[] = [
  [
    ['edge-proxy', 0],
    ['edge-proxy', 1],
    ['billing', 0],
  ],
  [['dashboard', 0]],
];

test('rotating all secrets in two steps under load refuses no call and keeps old keys', async () => {
  const { env, system } = run;
  const { local, operator } = system;
  const { keyPepper, sourcePrivateKey, webhookPrivateKey, sessionSecret, operatorToken } = local.secrets;
  const old = {
    GATEWAY_KEY_PEPPER: keyPepper,
    GATEWAY_SOURCE_PRIVATE_KEY: sourcePrivateKey,
    GATEWAY_WEBHOOK_PRIVATE_KEY: webhookPrivateKey,
    GATEWAY_SESSION_SECRET: sessionSecret,
    GATEWAY_OPERATOR_TOKEN: operatorToken,
  };
  const load = await SteadyLoad.start(run, STREAMS);
  const begunBefore = new Set(run.seen);
  const replaceAll = async (): Promise<void> => {
    for (const at of READ_SECRETS) await Promise.all(at.map(([service, index]) => load.replace(service, index)));
  };
  const statusOf = async (token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${local.running().operatorUrl}/accounts`, { headers })).status;
  };
  try {
    for (const [name, value] of Object.entries(old)) {
      env[name] = randomBytes(SECRET_BYTES).toString('hex');
      env[`${name}_PREVIOUS`] = value;
    }
    for (const purpose of ['SOURCE', 'WEBHOOK'])
      env[`GATEWAY_${purpose}_PUBLIC_KEY`] = publicKeyOf(env[`GATEWAY_${purpose}_PRIVATE_KEY`] ?? '');
    await replaceAll();
    expect([await statusOf(operatorToken), await statusOf(env['GATEWAY_OPERATOR_TOKEN'] ?? '')]).toEqual([200, 200]);
    // This key has the new pepper. The keys of the load have the old one.
    const { secret } = await operator.account('1.00');
    await expectAnswered(secret);
    const resealed = await runProgram('reseal', [], run.system, {
      GATEWAY_SOURCE_PRIVATE_KEY: env['GATEWAY_SOURCE_PRIVATE_KEY'],
      GATEWAY_SOURCE_PRIVATE_KEY_PREVIOUS: sourcePrivateKey,
    });
    expect([resealed.code, resealed.output]).toEqual([
      0,
      expect.stringMatching(/^[1-9]\d* credentials were sealed again/),
    ]);
    await until('the edges have the resealed credentials', async () => {
      const urls = local.running().adminUrls['edge-proxy'] ?? [];
      const texts = await Promise.all(urls.map(async (url) => (await fetch(`${url}/metrics`)).text()));
      return texts.every((text) => /^gateway_edge_outdated_credentials 0$/m.test(text));
    });
    for (const name of Object.keys(old)) if (name !== 'GATEWAY_KEY_PEPPER') delete env[`${name}_PREVIOUS`];
    await replaceAll();
    expect([await statusOf(operatorToken), await statusOf(env['GATEWAY_OPERATOR_TOKEN'] ?? '')]).toEqual([401, 200]);
    await expectAnswered(secret);
    await expectAnswered(run.accounts[0]?.secret ?? '');
  } finally {
    await load.stop();
  }
  const seen = run.seen.filter((one) => !begunBefore.has(one));
  expect(seen.length).toBeGreaterThan(STREAMS);
  const noticed = seen.filter(({ status, ending }) => status !== 200 || ending !== 'whole');
  expect(noticed).toEqual([]);
}, 240_000);

/**
 * Expects a response from both edges. The first load of a bucket waits until billing has settled
 * all events that were stored before (docs/protocol.md#r11). Directly after a replacement of
 * billing, this may take longer than the timeout of a request.
 */
async function expectAnswered(secret: string): Promise<void> {
  for (const url of run.system.local.running().edgeUrls) {
    const answered = async (): Promise<boolean> => {
      const { status, text } = await get(`${url}/v1/gateway/usage`, secret);
      if (status !== 500) expect([status, text]).toEqual([200, expect.stringContaining('wallet')]);
      return status === 200;
    };
    await until('the edge returns the usage of the account', answered);
  }
}
