import { outageMinutes } from '@gateway/local';
import { renderTable } from '@gateway/testkit';
import { endsOf, type Ends, type OutageMeasures, waitsOf } from '../outage/measure-outage.js';
import { expectedLeft } from '../outage/judge-outage.js';
import type { OutageFigures } from '../outage/run-outage.js';

const GIBIBYTE = 1024 ** 3;
const RATES = [100, 1_000] as const;
/** The first size is the one in the chart and its notes. The second is enough for an hour. */
const SIZES = [
  { text: 'stream of 4 GiB, Redis of 1 GB', streamBytes: 4 * GIBIBYTE, redisBytes: GIBIBYTE },
  { text: 'stream of 10 GiB, Redis of 2 GB', streamBytes: 10 * GIBIBYTE, redisBytes: 2 * GIBIBYTE },
] as const;

/** Renders the results of an outage as Markdown, without a date. */
export function renderOutage(figures: OutageFigures, measures: OutageMeasures): string {
  const { options, samples, downAt, backAt, caughtUpAt, waiting, billingCpuSeconds, evidence, check } = figures;
  const { bytesPerCall, refused } = measures;
  const [first, last] = endsOf(samples);
  const expected = expectedLeft(samples);
  const catchUpSeconds = (caughtUpAt - backAt) / 1_000;
  const refusedTotal = [...refused.values()].reduce((sum, count) => sum + count, 0);
  const minutes = (options.outageMs / 60_000).toLocaleString('en', { maximumFractionDigits: 1 });
  const waits = [
    ['before the outage', 0, downAt],
    ['during the outage', downAt, backAt],
    ['while billing catches up', backAt, caughtUpAt],
    ['after', caughtUpAt, Infinity],
  ] as const;
  return `# Outage of billing

\`npm run prove:outage -- --minutes ${minutes} --rate ${options.callsPerSecond} --seed ${options.seed}\`: all replicas of billing are killed and stay down for ${seconds(measures.seconds)} s.
Official clients and raw sockets make ${options.callsPerSecond} requests per second over two edges and two replicas of admission; ${share(measures.idleShare)} of the machine
is idle. Then two replicas of billing start under the same load. ${thousands(evidence.calls.length)} requests in total; five of the eight accounts reach a limit.

Refused or broken by the outage, until billing had caught up: ${refusedTotal}. Differences found by the checker of [the random faults](faults.md): ${check.violations.length}.
Limits that requests use up (wallet, key cap, plan window) were used up to the last request.

${renderTable(
  ['Milliseconds from client to provider', 'requests', 'median', '99 %'],
  waits.map(([name, from, to]): [string, ...string[]] => [name, ...spread(waitsOf(evidence, from, to))]),
)}

${renderTable(
  ['Per second of the outage', 'first quarter', 'last quarter'],
  [
    ['log lines of admission', ...ends(measures.logLines)],
    ['requests to billing', ...ends(measures.questions)],
    ['ledger queries for due holds', ...ends(measures.asked)],
    ['milliseconds of processor time of Redis', ...ends(inMs(measures.redisCpu))],
  ],
)}

${renderTable(
  ['Store', 'grew by', 'bytes per request', 's left by the alarm metric', 's left by the growth'],
  (['stream', 'redis'] as const).map((store): [string, ...string[]] => [
    store,
    megabytes(last[`${store}Bytes`] - first[`${store}Bytes`]),
    thousands(bytesPerCall[store]),
    thousands(last.secondsLeft[store]),
    thousands(expected[store]),
  ]),
)}

Stream: ${thousands(measures.stored)} stored requests. Redis: ${thousands(measures.held)} holds.

Catching up: ${thousands(waiting)} events within ${seconds(catchUpSeconds)} s of the start of billing, ${thousands(waiting / catchUpSeconds)} per second; billing used ${seconds(billingCpuSeconds)} s of
processor time.

With these bytes per request, production can run this long without billing in the worst case (half of the stream is settled and kept
for its hour; 100,000 accounts in Redis):

${renderTable(
  ['Sizes', ...RATES.map((rate) => `minutes at ${thousands(rate)} requests/s`)],
  SIZES.map(({ text, ...sizes }): [string, ...string[]] => [
    text,
    ...RATES.map((rate) => thousands(outageMinutes(sizes, rate, bytesPerCall))),
  ]),
)}
`;
}

function spread(sorted: readonly number[]): string[] {
  const at = (share: number): string => thousands(sorted[Math.floor(sorted.length * share)] ?? 0);
  return [thousands(sorted.length), at(0.5), at(0.99)];
}

function ends({ first, last }: Ends): string[] {
  return [first, last].map((rate) => rate.toFixed(1));
}

function inMs({ first, last }: Ends): Ends {
  return { first: first * 1_000, last: last * 1_000 };
}

function share(part: number): string {
  return `${Math.round(100 * part)} %`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function seconds(count: number): string {
  return count.toFixed(1);
}

function thousands(count: number): string {
  return Math.round(count).toLocaleString('en');
}
