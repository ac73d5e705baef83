import { setTimeout as delay } from 'node:timers/promises';
import { createLedgerReader } from '@gateway/billing/ledger/audit-store.js';
import { auditLedger } from '@gateway/billing/ledger/audit.js';
import { SERVICES } from '@gateway/local';
import { createPool } from '@gateway/postgres';
import type { BenchContext } from '../context.js';
import type { BenchOptions } from '../options.js';
import { type Report, readMachineFacts, table } from '../report.js';
import { publishEvents } from './events.js';
import { fillLedger, listPayers } from './fill-ledger.js';
import { SettlingSystem, type Settlement } from './settling.js';

/** Events in a message of an edge under load, and of one with occasional calls. */
const [EVENTS_FULL, EVENTS_LIVE] = [100, 5];
const ACCOUNTS = 1_000;
/** The ledger is measured with a part of the earlier records, and with all. */
const FEWER_RECORDS = 20;
const GRACE_MS = 10_000;
const POLL_MS = 100;
const LIVE_MS = 20;

const grouped = (value: number): string => Math.round(value).toLocaleString('en-US');

interface Row extends Settlement {
  readonly earlier: number;
  readonly accounts: number;
}

/**
 * Measures the way from the stream to the committed ledger with one billing process, and how fast a
 * backlog is settled while events continue to arrive.
 */
export async function runBilling(options: BenchOptions, context: BenchContext): Promise<Report> {
  const facts = readMachineFacts();
  const settling = await SettlingSystem.start(context);
  // The other services would use the cores of billing.
  for (const name of SERVICES.filter((service) => service !== 'billing'))
    for (const child of settling.system.children(name)) await child.stop(GRACE_MS);
  const rows: Row[] = [];
  for (const earlier of [Math.round(options.earlier / FEWER_RECORDS), options.earlier]) {
    await settling.stopBilling();
    await fillLedger(settling.admin, earlier, listPayers(ACCOUNTS));
    context.log(`the ledger has ${grouped(earlier)} records`);
    for (const accounts of [ACCOUNTS, 1]) {
      context.signal.throwIfAborted();
      const settled = await settling.settle({ events: options.events, accounts, size: EVENTS_FULL });
      rows.push({ earlier, accounts, ...settled });
      context.log(`${accounts} accounts: ${grouped(settled.perSecond)} events/s`);
    }
    if (rows.length === 2) await checkLedger(settling);
  }
  const { seconds, ratio } = await catchUp(settling, options);
  const head = ['Earlier records', 'Accounts', 'Events per second', 'CPU of billing, µs per event'];
  const cells = rows.map((row) => [
    ...[row.earlier, row.accounts, row.perSecond].map(grouped),
    row.billingMicros.toFixed(1),
    row.postgresMicros.toFixed(1),
  ]);
  const text = `A backlog of ${grouped(options.live * options.backlog)} events was settled in ${seconds.toFixed(1)} s while ${grouped(options.live)} events per second arrived: ${ratio.toFixed(1)} times that rate.`;
  return {
    title: 'One billing process: from the stream to the committed ledger',
    facts: [
      ...facts,
      ['Events', `${EVENTS_FULL} per message; ${EVENTS_LIVE} while they arrive. Each is one record and four entries`],
      ['Audit', `no difference after the first ${grouped(options.events * 2)} events`],
    ],
    brokenOff: null,
    sections: [table('Settlement', [...head, 'CPU of PostgreSQL, µs per event'], cells, text)],
    notes: [],
    samples: { rows, seconds, ratio },
  };
}

/**
 * @throws Error if filled and settled records disagree: results would not be those of a real ledger
 */
async function checkLedger({ system }: SettlingSystem): Promise<void> {
  const log = { info: () => undefined, warn: console.warn, error: console.error };
  const pool = createPool(system.addresses.postgresUrlOf('billing'), { applicationName: 'bench', log });
  try {
    const differences: unknown[] = [];
    const report = { begin: () => undefined, difference: (one: unknown) => void differences.push(one) };
    await createLedgerReader(pool).snapshot((ledger) => auditLedger(ledger, report));
    if (differences.length > 0)
      throw new Error(`the audit found ${differences.length} differences: ${JSON.stringify(differences[0])}`);
  } finally {
    await pool.end();
  }
}

/** Starts billing after a pause and measures the catch-up while events arrive at the live rate. */
async function catchUp(
  settling: SettlingSystem,
  { live, backlog }: BenchOptions,
): Promise<{ readonly seconds: number; readonly ratio: number }> {
  let arrived = live * backlog;
  await settling.queue({ events: arrived, accounts: ACCOUNTS, size: EVENTS_LIVE });
  const begunMs = performance.now();
  let isOver = false;
  const arriving = (async () => {
    while (!isOver) {
      const due = live * backlog + Math.floor(((performance.now() - begunMs) / 1_000) * live);
      const events = due - arrived;
      if (events > 0) await publishEvents(settling.edge, { events, accounts: ACCOUNTS, size: EVENTS_LIVE });
      arrived = due;
      await delay(LIVE_MS);
    }
  })();
  // Caught up: only the events of the current batch are missing.
  while (arrived - (await settling.settled()) > live / 2) await delay(POLL_MS);
  const seconds = (performance.now() - begunMs) / 1_000;
  const settled = await settling.settled();
  isOver = true;
  await arriving;
  await settling.untilSettled(arrived);
  return { seconds, ratio: settled / seconds / live };
}
