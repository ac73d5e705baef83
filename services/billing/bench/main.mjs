// `npm run bench:billing [-- --events N] [--earlier N,M]`: measures events per second from the
// stream to the committed ledger with one billing process, with 1,000 accounts and with one, after
// N and after M earlier records. Also measures how fast a backlog is settled while events continue
// to arrive. Writes .results/bench-billing.md unless --dry. --profile DIR writes CPU profiles of
// the process.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { connectBus, natsAuthorization } from '@gateway/bus';
import { MESSAGES, SERVICE_NAMES } from '@gateway/contracts/messages';
import { createPool, migrate } from '@gateway/postgres';
import { startServers, withoutLentServers } from '@gateway/servers';
import { createLedgerReader } from '../dist/ledger/audit-store.js';
import { auditLedger } from '../dist/ledger/audit.js';
import { measuredBilling, until } from './billing-process.mjs';
import { publish } from './events.mjs';
import { fillLedger, payersOf } from './fill-ledger.mjs';
import { lineOf, render } from './report.mjs';

/** Load of other programs: results of a busy machine are not representative. */
const loadBefore = loadavg()[0];
const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '100000' },
    earlier: { type: 'string', default: '100000,2000000' },
    live: { type: 'string', default: '1000' },
    backlog: { type: 'string', default: '60' },
    profile: { type: 'string' },
    dry: { type: 'boolean', default: false },
  },
});
const events = Number(values.events);
const earlierCounts = values.earlier.split(',').map(Number);
/** Events per second that continue to arrive, and the seconds without billing. */
const [liveRate, backlogSeconds] = [Number(values.live), Number(values.backlog)];
/** Message sizes of an edge under load, and of one with occasional calls. */
const [EVENTS_FULL, EVENTS_LIVE] = [100, 5];
/** Poll interval for the metrics of the measured process: long enough to cost it nothing. */
const POLL_MS = 200;
const ACCOUNTS = 1_000;
const FILL_MS_MAX = 3_600_000;

const log = { info() {}, warn: console.warn, error: console.error };
const stateDirectory = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
const passwords = Object.fromEntries(SERVICE_NAMES.map((name) => [name, `password-${name}`]));
const role = { name: 'gateway_billing', password: 'password-of-the-role' };
const { postgres, nats } = await startServers(['postgres', 'nats'], {
  stateDirectory,
  durable: true,
  env: withoutLentServers(),
  postgres: { superuserPassword: 'password-of-postgres' },
  nats: {
    config: natsAuthorization(passwords, MESSAGES),
    credentials: { user: 'dashboard', password: passwords.dashboard },
  },
});
const migrations = new URL('../migrations/', import.meta.url);
const readers = { finance: { name: 'gateway_finance', password: 'password-of-finance' } };
await migrate({ migrationUrl: postgres.url, schema: 'billing', directory: migrations, role, readers, log });

const natsUrlOf = (service) => `nats://${service}:${passwords[service]}@127.0.0.1:${new URL(nats.url).port}`;
const postgresUrl = Object.assign(new URL(postgres.url), { username: role.name, password: role.password }).href;
const pool = createPool(postgresUrl, { applicationName: 'bench', statementTimeoutMs: FILL_MS_MAX, log });
// One connection, which keeps the session's settings and temporary tables.
const admin = createPool(postgres.url, { applicationName: 'bench', max: 1, statementTimeoutMs: FILL_MS_MAX, log });
const edge = await connectBus({ url: natsUrlOf('edge-proxy'), service: 'edge-proxy', replica: 'bench', log });
const billing = await measuredBilling({ natsUrl: natsUrlOf('billing'), postgresUrl, pool, profile: values.profile });
billing.start();
await until(billing.ready);
await billing.stop();

const rows = [];
for (const earlier of earlierCounts) {
  const begunMs = performance.now();
  await fillLedger(admin, earlier, payersOf(ACCOUNTS));
  console.log(`${earlier} earlier records after ${Math.round((performance.now() - begunMs) / 1_000)} s`);
  for (const accounts of [ACCOUNTS, 1]) {
    rows.push({ earlier, accounts, ...(await settleAll(accounts)) });
    console.log(lineOf(rows.at(-1)));
  }
  if (earlier === earlierCounts[0]) await checkLedger();
}
const caughtUp = await catchUp();
await edge.drain(5_000);
await Promise.all([pool.end(), admin.end()]);
await Promise.all([postgres.stop(), nats.stop()]);
rmSync(stateDirectory, { recursive: true, force: true });
const report = render({ rows, caughtUp, earlierCounts, accounts: ACCOUNTS, loadBefore, size: EVENTS_FULL });
if (values.dry) console.log(report);
else writeFileSync(new URL('../../../.results/bench-billing.md', import.meta.url), report);

/** Queues events while billing is stopped, then measures the time until they are committed. */
async function settleAll(accounts) {
  await publish(edge, { events, accounts, size: EVENTS_FULL });
  billing.start();
  await until(async () => (await billing.settled()) > 0, 2);
  const begunMs = performance.now();
  const already = await billing.settled();
  const cpu = await billing.cpu();
  await until(async () => (await billing.settled()) >= events, POLL_MS);
  const seconds = (performance.now() - begunMs) / 1_000;
  const after = await billing.cpu();
  await billing.stop();
  const settled = events - already;
  const micros = (from, to) => ((to - from) / settled) * 1e6;
  return {
    events: settled,
    perSecond: settled / seconds,
    billingMicros: micros(cpu.billing, after.billing),
    postgresMicros: micros(cpu.postgres, after.postgres),
  };
}

/**
 * Checks that filled and settled records agree. Otherwise the results would not be those of a real
 * ledger.
 */
async function checkLedger() {
  const faults = [];
  const report = { begin() {}, difference: (difference) => faults.push(difference) };
  await createLedgerReader(pool).snapshot((ledger) => auditLedger(ledger, report));
  if (faults.length > 0) throw new Error(`the audit found ${faults.length} differences: ${JSON.stringify(faults[0])}`);
}

/** Starts billing after a pause and measures the catch-up while events arrive at the live rate. */
async function catchUp() {
  const backlog = liveRate * backlogSeconds;
  await publish(edge, { events: backlog, accounts: ACCOUNTS, size: EVENTS_LIVE });
  let arrived = backlog;
  let live = true;
  billing.start();
  await until(async () => (await billing.settled()) > 0, 2);
  const begunMs = performance.now();
  const arriving = (async () => {
    while (live) {
      const due = backlog + Math.floor(((performance.now() - begunMs) / 1_000) * liveRate);
      if (due > arrived) await publish(edge, { events: due - arrived, accounts: ACCOUNTS, size: EVENTS_LIVE });
      arrived = due;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  // Caught up: only the events of the current batch are missing.
  await until(async () => arrived - (await billing.settled()) <= liveRate / 2, POLL_MS);
  const seconds = (performance.now() - begunMs) / 1_000;
  const settled = await billing.settled();
  live = false;
  await arriving;
  await until(async () => (await billing.settled()) >= arrived, POLL_MS);
  await billing.stop();
  return { backlog, backlogSeconds, liveRate, seconds, ratio: settled / seconds / liveRate, size: EVENTS_LIVE };
}
