// `npm run bench:dashboard [-- --records N] [--events N] [--rounds N] [--dry]`: measures lists and
// charts of the pages' API on an account with a million usage records, idle and while billing
// settles a backlog at full rate. Also measures how much this slows billing down, and the size of
// each page's files. Writes .results/bench-dashboard.md unless --dry is given.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { connectBus } from '@gateway/bus';
import { startSystem } from '@gateway/local';
import { publish } from '../../../services/billing/bench/events.mjs';
import { arrange } from './arrange.mjs';
import { casesOf } from './cases.mjs';
import { ask, askEvery, median } from './ask.mjs';
import { render } from './report.mjs';
import { weighPages } from './weigh-pages.mjs';

const loadBefore = loadavg()[0];
const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '1000000' },
    events: { type: 'string', default: '60000' },
    rounds: { type: 'string', default: '4' },
    dry: { type: 'boolean', default: false },
  },
});
const [records, events, rounds] = [values.records, values.events, values.rounds].map(Number);
/** Accounts whose calls are settled meanwhile, and events per message as under load. */
const [SETTLING_ACCOUNTS, EVENTS_OF_MESSAGE] = [1_000, 100];
/** Interval of requests. Equals 25 open overviews with three requests each every 20 s. */
const EVERY_MS = 250;
const [WARM_UPS, QUIET_ASKS] = [2, 15];
/** Time limit per case. A slow case is measured fewer times. */
const CASE_MS_MAX = 15_000;
const LOOK_MS = 50;
const GRACE_MS = 10_000;

const directory = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
const system = await startSystem({
  stateDirectory: directory,
  port: 0,
  replicas: { 'edge-proxy': 1, admission: 1, billing: 1, accounts: 1, catalog: 1, dashboard: 1 },
  env: { NODE_ENV: 'production' },
  durable: true,
  log: () => undefined,
});
const [billing] = system.children('billing');
try {
  await measure();
} catch (fault) {
  for (const name of ['dashboard', 'billing']) console.error(system.children(name)[0].lastLogLines());
  throw fault;
} finally {
  await system.stop();
  rmSync(directory, { recursive: true, force: true });
}

async function measure() {
  const begunMs = performance.now();
  const { person, filled } = await arrange(system, billing, records);
  console.log(`${records} records after ${Math.round((performance.now() - begunMs) / 1_000)} s`);
  const log = { info() {}, warn: console.warn, error: console.error };
  const url = system.addresses.natsUrlOf('edge-proxy');
  const edge = await connectBus({ url, service: 'edge-proxy', replica: 'bench', log });
  const cases = await casesOf(person, filled);
  const quiet = new Map();
  for (const one of cases) {
    const endMs = performance.now() + CASE_MS_MAX;
    for (let time = 0; time < WARM_UPS; time += 1) await ask(person, one);
    const times = [await ask(person, one)];
    while (times.length < QUIET_ASKS && performance.now() < endMs) times.push(await ask(person, one));
    quiet.set(one.name, times);
    console.log(`${one.name}: ${median(times).toFixed(0)} ms`);
  }
  const busy = new Map(cases.map(({ name }) => [name, []]));
  const rates = { alone: [], asked: [] };
  for (let round = 0; round < rounds; round += 1) {
    // Alone first in even rounds, last in odd ones, so that drift affects both equally.
    for (const kind of round % 2 === 0 ? ['alone', 'asked'] : ['asked', 'alone']) {
      const rate = await settle(edge, kind === 'asked' ? () => askEvery(person, cases, EVERY_MS, busy) : null);
      rates[kind].push(rate);
      console.log(`round ${round + 1}, ${kind}: ${Math.round(rate)} events/s`);
    }
  }
  await edge.drain(1_000);
  const report = render({ records, events, rounds, filled, quiet, busy, rates, everyMs: EVERY_MS, loadBefore });
  const text = `${report}\n${weighPages()}`;
  if (values.dry) console.log(text);
  else writeFileSync(new URL('../../../.results/bench-dashboard.md', import.meta.url), text);
}

/**
 * Queues events while billing is stopped. Returns the events per second until all are committed.
 */
async function settle(edge, startAsking) {
  await billing.stop(GRACE_MS);
  await publish(edge, { events, accounts: SETTLING_ACCOUNTS, size: EVENTS_OF_MESSAGE });
  await billing.start();
  await until(async () => (await settled()) > 0);
  const already = await settled();
  const begunMs = performance.now();
  const asking = startAsking?.();
  await until(async () => (await settled()) >= events);
  const seconds = (performance.now() - begunMs) / 1_000;
  await asking?.stop();
  return (events - already) / seconds;
}

/** Returns the number of events that the running process has committed. */
async function settled() {
  const text = await fetch(`${billing.adminUrl}/metrics`).then((answer) => answer.text());
  return text
    .split('\n')
    .filter((line) => line.startsWith('gateway_billing_events_total{'))
    .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

async function until(condition) {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}
