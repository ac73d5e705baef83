import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inTransaction } from '@gateway/postgres';
import type { TestDatabase } from '@gateway/testkit';
import { createHold, packMessage, createSettledEvent } from '../../test/events.js';
import { type LedgerWorld, startLedgerWorld } from '../../test/ledger-world.js';
import { createMonths } from '../ledger/months.js';
import { readDelivery } from '../usage/read/read-deliveries.js';
import { settleBatch } from '../usage/settle-batch.js';
import { createSettlementStore } from '../usage/commit/settlement-store.js';

const DIST = new URL('../../dist/', import.meta.url);
const directory = mkdtempSync(join(tmpdir(), 'gateway-commands-'));
const event = createSettledEvent(createHold('a'), 70);

let world: LedgerWorld;
let ledger: TestDatabase;

beforeAll(async () => {
  world = await startLedgerWorld();
  ledger = await world.ledger();
  const store = createSettlementStore(ledger.pool);
  const read = readDelivery(packMessage([event, { ...createSettledEvent(createHold('b'), 5), amountNanoUsd: 6 }]), {
    subject: 0,
    sequence: 1,
  });
  await settleBatch(store, createMonths(store), { ...read, applied: [] });
}, 60_000);
afterAll(async () => {
  await world.stop();
  rmSync(directory, { recursive: true });
});

/** Runs a command of the compiled package like an operator. */
function run(command: string, ...values: string[]): Promise<{ code: number; out: string }> {
  const env = { ...process.env, GATEWAY_POSTGRES_URL: ledger.url };
  return new Promise((resolve) => {
    execFile(process.execPath, [fileURLToPath(new URL(command, DIST)), ...values], { env }, (error, out) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, out }),
    );
  });
}

test('the dead letter command lists, shows and replays dead letters', async () => {
  const listed = await run('commands/dead-letters.js', 'list');
  expect(listed).toMatchObject({ code: 0, out: expect.stringMatching(/^[0-9a-f]{64} .* amount {2}the amount is 6/) });
  const hash = listed.out.slice(0, 64);
  expect(await run('commands/dead-letters.js', 'replay', hash, '--actor', 'ada')).toEqual({
    code: 1,
    out: 'dead_letter\n',
  });
  const shown = (await run('commands/dead-letters.js', 'show', hash)).out;
  expect(shown).toContain('replayed 1 times: dead_letter');
  expect(shown).toContain('"amountNanoUsd":6');
  expect((await run('commands/dead-letters.js', 'replay', hash)).code).toBe(64);
});

test('audit and chain verification pass, then report damaged records', async () => {
  const [heads, exported] = await Promise.all([run('commands/chain.js', 'heads'), run('commands/chain.js', 'export')]);
  const [anchors, file] = [join(directory, 'anchors'), join(directory, 'export')];
  writeFileSync(anchors, heads.out);
  writeFileSync(file, exported.out);
  const verify = ['commands/chain.js', 'verify', '--anchors', anchors] as const;
  expect(await run('commands/audit.js')).toMatchObject({
    code: 0,
    out: expect.stringContaining('0 differences; 1 ledger'),
  });
  for (const more of [[], ['--file', file]])
    expect(await run(...verify, ...more)).toMatchObject({ code: 0, out: expect.stringContaining('0 broken links; 1') });

  await inTransaction(ledger.admin, async (tx) => {
    await tx.execute(`SET LOCAL gateway.ledger_repair = 'on'`);
    await tx.execute(`UPDATE billing.call_records SET charged_nano_usd = charged_nano_usd * 2`);
  });
  const audited = await run('commands/audit.js');
  expect(audited.code).toBe(1);
  for (const check of ['balance', 'chain'])
    expect(audited.out).toMatch(new RegExp(`^${check}: .*(${event.id}|a wallet)`, 'm'));
  expect(await run(...verify)).toMatchObject({ code: 1, out: expect.stringContaining(event.id) });
}, 60_000);

test('a command with an invalid configuration exits with 78', async () => {
  const { url } = ledger;
  ledger = { ...ledger, url: 'not a url' };
  expect((await run('commands/audit.js')).code).toBe(78);
  ledger = { ...ledger, url };
});
