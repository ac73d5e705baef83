// Measures how soon accounts count as loaded again after Redis returns: with the accounts from its
// file, and with none after a flush.
import { keyMonthRow, memberMonthRow, monthOf, weeklyWindowRow, weekStart } from '@gateway/metering';
import { cpus, loadavg } from 'node:os';
import { keyOf, memberOf } from './accounts.mjs';
import { fillLimitStore } from './fill.mjs';
import { admit, release, silent, startLimitStore } from './limit-store.mjs';

const PROBES = 400;
const PROBE_PAUSE_MS = 5;
const CALLS_IN_MESSAGE = 16;
const MESSAGES_AT_ONCE = 16;
/** Maximum accounts that are loaded by calls. More would only take longer. */
const CALLED_MAX = 20_000;

/** Accounts of a plan with typical balances. */
export async function measureKept(accounts) {
  const loadBefore = loadavg()[0];
  const told = [];
  const log = { ...silent, info: (facts, text) => told.push({ facts, text }) };
  const store = await startLimitStore({ withPlan: true, log });
  try {
    // The account that is called continuously is not among the counted ones.
    await fillLimitStore(store, 0, accounts, true, rowsOf);
    const quiet = await probe(store, accounts, () => false);
    await store.restart();
    const before = [await store.redisCpuMicros(), process.cpuUsage(), performance.now()];
    let isOver = false;
    const probing = probe(store, accounts, () => isOver);
    await store.admission.revalidated();
    const seconds = (performance.now() - before[2]) / 1_000;
    isOver = true;
    const meanwhile = await probing;
    const { user, system } = process.cpuUsage(before[1]);
    const redis = (await store.redisCpuMicros()) - before[0];
    const { facts } = told.findLast(({ text }) => text.startsWith('kept accounts'));
    if (facts.confirmed < accounts) throw new Error(`not all accounts were confirmed: ${JSON.stringify(facts)}`);
    await store.flush();
    const called = Math.min(accounts, CALLED_MAX);
    return {
      ...{ accounts, seconds, called, loadBefore, quiet, meanwhile },
      redisMicros: redis / accounts,
      admissionMicros: (user + system) / accounts,
      calledSeconds: await loadByCalls(store, called),
    };
  } finally {
    await store.stop();
  }
}

function rowsOf(number) {
  const now = Date.now();
  const month = monthOf(now);
  const weekly = ['usd', 'requests'].map((unit) => weeklyWindowRow(unit, weekStart(now)));
  return [keyMonthRow(keyOf(number), month), memberMonthRow(memberOf(number), month), ...weekly];
}

/** Milliseconds of single calls, one after the other: the median and the 99th percentile. */
async function probe(store, number, isOver) {
  const took = [];
  while (took.length < PROBES && !isOver()) {
    const begun = performance.now();
    const running = await admit(store, [number]);
    took.push(performance.now() - begun);
    await release(store, running);
    await new Promise((resolve) => setTimeout(resolve, PROBE_PAUSE_MS));
  }
  took.sort((one, other) => one - other);
  const at = (share) => took[Math.floor((took.length - 1) * share)] ?? NaN;
  return { calls: took.length, median: at(0.5), slow: at(0.99) };
}

async function loadByCalls(store, count) {
  let next = 0;
  const begun = performance.now();
  const work = async () => {
    while (next < count) {
      const from = next;
      next += CALLS_IN_MESSAGE;
      const numbers = Array.from({ length: Math.min(CALLS_IN_MESSAGE, count - from) }, (_unused, at) => from + at);
      await admit(store, numbers);
    }
  };
  await Promise.all(Array.from({ length: MESSAGES_AT_ONCE }, work));
  return (performance.now() - begun) / 1_000;
}

export function renderKept(figures) {
  const { accounts, seconds, called, calledSeconds, redisMicros, admissionMicros, quiet, meanwhile, loadBefore } =
    figures;
  const grouped = (value) => Math.round(value).toLocaleString('en-US');
  return `# After a loss of the limit store

Written by \`npm run bench:admission -- --kept N\`. Redis, one replica and the simulated owners run on one machine. The owners answer
at once, so the times are those of Redis and admission. Accounts are on a plan and have one key and five balances.

| | |
| --- | ---: |
| accounts in the Redis file, all confirmed | ${grouped(accounts)} |
| seconds after the buckets opened | ${seconds.toFixed(1)} |
| accounts per second | ${grouped(accounts / seconds)} |
| µs of Redis per account, with all other work at that time | ${redisMicros.toFixed(0)} |
| µs of admission per account | ${admissionMicros.toFixed(0)} |
| ms per decision before: median, 99th percentile | ${quiet.median.toFixed(1)}, ${quiet.slow.toFixed(1)} |
| ms per decision during the confirmation (${meanwhile.calls} calls): median, 99th percentile | ${meanwhile.median.toFixed(1)}, ${meanwhile.slow.toFixed(1)} |
| accounts loaded by their first call, after a flush | ${grouped(called)} |
| accounts per second | ${grouped(called / calledSeconds)} |

- aim: 100,000 accounts within 10 s; measured: ${((seconds * 100_000) / accounts).toFixed(1)} s
- machine: ${cpus()[0].model}, ${cpus().length} cores, Node ${process.versions.node}; load average before: ${loadBefore.toFixed(1)}
`;
}
