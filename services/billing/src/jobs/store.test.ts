import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import { registry } from '../../../../libs/service-kit/src/telemetry/metrics.js';
import { startLedger } from '../../test/ledger-world.js';
import { createJobStore, type JobStore } from './store.js';
import { watchJobs } from './watch.js';

let ledger: Awaited<ReturnType<typeof startLedger>>;
beforeAll(async () => {
  ledger = await startLedger();
}, 60_000);
afterAll(() => ledger.stop());

const HOUR = 3_600;
const age = (hours: number) => `now() - interval '${hours} hours'`;

test('states() returns the age of the last success, or of the installation without one', async () => {
  const store = createJobStore(ledger.pool);
  await ledger.admin.query(`UPDATE billing.job_runs SET since = ${age(50)}`);
  await ledger.admin.query(`INSERT INTO billing.job_runs (job, since) VALUES ('of-another-tool', ${age(1)})`);
  expect((await store.states()).map(({ job, hasFailed }) => [job, hasFailed])).toEqual([
    ['audit', false],
    ['backup', false],
  ]);
  await store.record({ job: 'backup', outcome: 'succeeded', figures: '3 accounts' });
  await ledger.admin.query(`UPDATE billing.job_runs SET succeeded_at = ${age(30)} WHERE job = 'backup'`);
  await store.record({ job: 'backup', outcome: 'failed', figures: '' });
  await store.record({ job: 'reseal', outcome: 'failed', figures: '' });
  const states = await store.states();
  expect(states.map(({ job, ageSeconds, hasFailed }) => [job, Math.round(ageSeconds / HOUR), hasFailed])).toEqual([
    ['audit', 50, false],
    ['backup', 30, true],
    ['reseal', 0, true],
  ]);
});

test('the metrics have a series for each known job, and none after a failed poll', async () => {
  const read = (name: string) => [
    ...(registry.gauges.get(`gateway_billing_job_${name}`)?.read() as Iterable<[string, number]>),
  ];
  let store: Pick<JobStore, 'states'> = createJobStore(ledger.pool);
  const watching = watchJobs({ store: { states: () => store.states() }, log: { warn: () => undefined }, everyMs: 5 });
  try {
    await until('the runs are read', () => read('failed').length > 0);
    expect(read('failed')).toEqual([
      ['audit', 0],
      ['backup', 1],
      ['reseal', 1],
    ]);
    expect(read('success_age_seconds').map(([job, seconds]) => [job, Math.round(seconds / HOUR)])).toEqual([
      ['audit', 50],
      ['backup', 30],
      ['reseal', 0],
    ]);
    store = { states: () => Promise.reject(new Error('down')) };
    await until('the values are gone', () => read('failed').length === 0);
    expect(read('success_age_seconds')).toEqual([]);
  } finally {
    await watching.stop();
  }
});

test.each([
  ['an unknown outcome', 'backup', 'done', ''],
  ['two lines of figures', 'backup', 'succeeded', 'a\nb'],
  ['long figures', 'backup', 'succeeded', 'x'.repeat(201)],
  ['a name with a space', 'back up', 'succeeded', ''],
])('a run with %s is not stored', async (_what, job, outcome, figures) => {
  const record = ledger.pool.query('SELECT record_job_run($1, $2, $3)', [job, outcome, figures]);
  await expect(record).rejects.toThrow(/violates check constraint/);
});

test("the service's role changes runs only with the function", async () => {
  for (const change of [
    "INSERT INTO job_runs (job) VALUES ('x')",
    'UPDATE job_runs SET succeeded_at = now()',
    'DELETE FROM job_runs',
  ])
    await expect(ledger.pool.query(change)).rejects.toThrow(/permission denied/);
});
