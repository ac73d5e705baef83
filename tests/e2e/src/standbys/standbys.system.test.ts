import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { startSystem } from '@gateway/local';
import { testSeed } from '@gateway/testkit/seed';
import { FAULTS_MIX } from '../load/call-plan.js';
import { checkEvidence } from '../evidence/check-evidence.js';
import { isFaultAnswer } from '../evidence/judge-call.js';
import { FaultRun } from '../faults/fault-run.js';
import { STANDBY_FAULTS } from './standby-faults.js';
import { causeStandbyFault } from './ha.js';

/** Faults of the short run. `npm run verify:faults -- ha` runs all of them. */
const SHORT = STANDBY_FAULTS.filter(({ name }) =>
  /killed and a standby promoted|killed and its replica promoted|nats: a server is killed/.test(name),
);
const CALLS_BETWEEN = 100;
/** Far above the usual time, because machines that run tests are busy. */
const REFUSED_MAX_MS = 30_000;
const SEED = testSeed();

let run: FaultRun;
beforeAll(async () => {
  run = await FaultRun.begin('standbys', CALLS_BETWEEN * (SHORT.length + 2), { ha: true });
  run.load(FAULTS_MIX, SEED);
}, 240_000);
afterAll(async () => {
  await run?.end();
}, 120_000);

// Covers PostgreSQL fails over; a NATS server of three is gone
// Covers Redis is gone, emptied or failed over
test.each(SHORT)(
  `$name: calls are refused only for seconds`,
  async (fault) => {
    const { refusedMs, servedMs } = await causeStandbyFault(run, fault, CALLS_BETWEEN);
    process.stdout.write(`${fault.name}: refused for ${refusedMs} ms, all served after ${servedMs} ms\n`);
    expect(refusedMs).toBeLessThan(REFUSED_MAX_MS);
  },
  180_000,
);

test(`the checker finds no violation after all faults (seed ${SEED})`, async () => {
  await run.ended(run.seen.length + CALLS_BETWEEN);
  const evidence = await run.evidence();
  const { violations, counterExample } = checkEvidence(evidence);
  if (violations.length > 0) throw new Error([...violations, counterExample].join('\n'));
  console.info(`${evidence.calls.filter(isFaultAnswer).length} responses with 500 because of the faults`);
  expect(evidence.calls.filter(({ ending }) => ending === 'whole').length).toBeGreaterThan(CALLS_BETWEEN);
}, 300_000);

test('a second start on the same state is refused and keeps the record of the primary', async () => {
  const { stateDirectory } = run.system.local;
  const read = () => readFileSync(`${stateDirectory}/servers/postgres-primary.json`, 'utf8');
  const record = read();
  const second = startSystem({ stateDirectory, ha: true, durable: false, log: () => undefined });
  await expect(second).rejects.toThrow('is in use');
  expect(read()).toBe(record);
});

test('PostgreSQL has exactly one primary after all faults', async () => {
  const { members, servers } = run.system.local;
  const isStandby = async (url: string): Promise<boolean> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
    await client.end();
    return rows[0]?.standby ?? false;
  };
  const all = Object.entries(members).filter(([name]) => name.startsWith('postgres-'));
  const primaries = [];
  for (const [, { url }] of all) if (!(await isStandby(url))) primaries.push(url);
  expect(primaries).toEqual([servers.postgres.url]);
  expect(all).toHaveLength(3);
});
