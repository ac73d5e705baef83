import { setTimeout as delay } from 'node:timers/promises';
import { SERVICES } from '@gateway/local';
import { until } from '@gateway/testkit';
import type { BenchContext } from '../context.js';
import { requireRightLedger } from '../gateway/start-gateway.js';
import type { BenchOptions } from '../options.js';
import { type Report, formatNumber, table } from '../report.js';
import { listPayers, publishEvents } from './events.js';
import { EVENTS_FULL, SettlingSystem } from './settling.js';

/** Events in a message of an edge with occasional calls. */
const EVENTS_LIVE = 5;
const PAYERS = listPayers(1_000);
/** The ledger is measured with a part of the earlier records, and with all. */
const FEWER_RECORDS = 20;
const GRACE_MS = 10_000;
const LIVE_MS = 20;
const CATCH_UP_MS_MAX = 900_000;

/**
 * Measures the way from the stream to the committed ledger with one billing process, and how fast a
 * backlog is settled while events continue to arrive.
 */
export async function runBilling(options: BenchOptions, context: BenchContext): Promise<Report> {
  const settling = await SettlingSystem.start(context);
  // The other services would use the cores of billing.
  for (const name of SERVICES.filter((service) => service !== 'billing'))
    for (const child of settling.system.children(name)) await child.stop(GRACE_MS);
  const rows: number[][] = [];
  let held = 0;
  for (const earlier of [Math.round(options.earlier / FEWER_RECORDS), options.earlier]) {
    const missing = Math.max(0, earlier - held);
    await settling.fill(missing, PAYERS);
    held += missing + 2 * options.events;
    for (const payers of [PAYERS, PAYERS.slice(0, 1)]) {
      context.signal.throwIfAborted();
      const settled = await settling.settle({ events: options.events, payers, size: EVENTS_FULL });
      rows.push([earlier, payers.length, settled.perSecond, settled.billingMicros, settled.postgresMicros]);
      context.log(`${earlier} records, ${payers.length} accounts: ${formatNumber(settled.perSecond)} events/s`);
    }
    if (rows.length === 2) await requireRightLedger(settling.system);
  }
  const seconds = await catchUp(settling, options);
  const head = ['Earlier records', 'Accounts', 'Events per second', 'CPU of billing, µs per event'];
  const backlog = formatNumber(options.live * options.backlog);
  const text = `A backlog of ${backlog} events was settled in ${formatNumber(seconds)} s while ${formatNumber(options.live)} events per second arrived.`;
  return {
    title: 'One billing process: from the stream to the committed ledger',
    facts: [['Events', `${EVENTS_FULL} per message; ${EVENTS_LIVE} while they arrive. Each is one record`]],
    sections: [table('Settlement', [...head, 'CPU of PostgreSQL, µs per event'], rows, text)],
    samples: { rows, seconds },
  };
}

/** Returns the seconds until a backlog is settled while events arrive at the live rate. */
async function catchUp(settling: SettlingSystem, { live, backlog }: BenchOptions): Promise<number> {
  let arrived = live * backlog;
  await settling.queue({ events: arrived, payers: PAYERS, size: EVENTS_LIVE });
  const begunMs = performance.now();
  let isOver = false;
  const arriving = (async () => {
    while (!isOver) {
      const due = live * backlog + Math.floor(((performance.now() - begunMs) / 1_000) * live);
      const events = due - arrived;
      if (events > 0) await publishEvents(settling.edge, { events, payers: PAYERS, size: EVENTS_LIVE });
      arrived = due;
      await delay(LIVE_MS);
    }
  })();
  // Caught up: only the events of the current batch are missing.
  await until('a settled backlog', async () => arrived - (await settling.settled()) <= live / 2, CATCH_UP_MS_MAX);
  const seconds = (performance.now() - begunMs) / 1_000;
  isOver = true;
  await arriving;
  return seconds;
}
