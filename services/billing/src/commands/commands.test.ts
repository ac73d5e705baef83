import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
function run(command: string, ...values: string[]): Promise<{ code: number; out: string; problems: string }> {
  const env = { ...process.env, GATEWAY_POSTGRES_URL: ledger.url };
  return new Promise((resolve) => {
    execFile(process.execPath, [fileURLToPath(new URL(command, DIST)), ...values], { env }, (error, out, problems) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, out, problems }),
    );
  });
}

/** Returns the outcome and the figures of a job's last run. */
async function lastRun(job: string): Promise<unknown> {
  const { rows } = await ledger.pool.query('SELECT outcome, figures FROM job_runs WHERE job = $1', [job]);
  return rows[0];
}

test('the dead letter command lists, shows and replays dead letters', async () => {
  const listed = await run('commands/dead-letters.js', 'list');
  expect(listed).toMatchObject({ code: 0, out: expect.stringMatching(/^[0-9a-f]{64} .* amount {2}the amount is 6/) });
  const hash = listed.out.slice(0, 64);
  expect(await run('commands/dead-letters.js', 'replay', hash, '--actor', 'ada')).toMatchObject({
    code: 1,
    out: 'dead_letter\n',
  });
  const shown = (await run('commands/dead-letters.js', 'show', hash)).out;
  expect(shown).toContain('replayed 1 times: dead_letter');
  expect(shown).toContain('"amountNanoUsd":6');
  expect((await run('commands/dead-letters.js', 'replay', hash)).code).toBe(64);
});

test('heads are appended to a file that later verifies the chain; the run is recorded', async () => {
  const file = join(directory, 'chain-heads');
  const append = () => run('commands/chain.js', 'heads', '--append', file);
  const [first, second] = [await append(), await append()];
  expect([first.code, readFileSync(file, 'utf8')]).toEqual([0, first.out + second.out]);
  const verify = () => run('commands/chain.js', 'verify', '--anchors', file);
  expect(await verify()).toMatchObject({ code: 0, out: expect.stringMatching(/^0 broken links/) });
  expect(await lastRun('chain-heads')).toEqual({ outcome: 'succeeded', figures: '4 chains, 1 blocks' });
  // An earlier head of the same block had another link: the ledger was changed in between.
  const head =
    readFileSync(file, 'utf8')
      .split('\n')
      .find((line) => line.includes('"number":"1"')) ?? '';
  writeFileSync(
    file,
    `${head.replace(/"link":"./, '"link":"x').replace('x', head.includes('"link":"0') ? '1' : '0')}\n${head}\n`,
  );
  expect(await verify()).toMatchObject({ code: 1, out: expect.stringContaining('does not contain the anchor') });
  expect((await run('commands/chain.js', 'heads', '--append', join(directory, 'missing', 'file'))).code).toBe(2);
});

test('a run that cannot be recorded is still a run', async () => {
  await ledger.admin.query('ALTER FUNCTION billing.record_job_run RENAME TO moved');
  const { code, problems } = await run('commands/audit.js');
  expect([code, problems]).toEqual([0, expect.stringContaining('the run was not recorded: function record_job_run')]);
  await ledger.admin.query('ALTER FUNCTION billing.moved RENAME TO record_job_run');
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
  expect(await lastRun('audit')).toEqual({
    outcome: 'succeeded',
    figures: expect.stringContaining('0 differences; 1'),
  });
  for (const more of [[], ['--file', file]])
    expect(await run(...verify, ...more)).toMatchObject({ code: 0, out: expect.stringContaining('0 broken links; 1') });

  await inTransaction(ledger.admin, async (tx) => {
    await tx.execute(`SET LOCAL gateway.ledger_repair = 'on'`);
    await tx.execute(`UPDATE billing.call_records SET charged_nano_usd = charged_nano_usd * 2`);
  });
  const audited = await run('commands/audit.js');
  expect(audited.code).toBe(1);
  expect(await lastRun('audit')).toEqual({
    outcome: 'failed',
    figures: expect.stringMatching(/^[1-9]\d* differences/),
  });
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
