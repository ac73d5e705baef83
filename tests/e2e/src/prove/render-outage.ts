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
    ['before', 0, downAt],
    ['while it is away', downAt, backAt],
    ['while it catches up', backAt, caughtUpAt],
    ['after', caughtUpAt, Infinity],
  ] as const;
  return `# Billing is away

\`npm run prove:outage -- --minutes ${minutes} --rate ${options.callsPerSecond} --seed ${options.seed}\`: all processes of billing are killed and are away for ${seconds(measures.seconds)} s,
while official clients and raw sockets make ${options.callsPerSecond} calls a second over two edges and two admissions, at which ${share(measures.idleShare)} of the machine
was idle. Then two of them start, and the calls go on. ${thousands(evidence.calls.length)} calls in all; eight accounts, of which five have a limit that binds.

Refused or broken because of it, until it had caught up: ${refusedTotal}. Differences found by the checker of [the random faults](faults.md): ${check.violations.length}.
Limits that calls use up (wallet, cap of a key, window of a plan) were used to their last call.

${renderTable(
  ['Milliseconds from a client to its provider', 'calls', 'median', '99 %'],
  waits.map(([name, from, to]): [string, ...string[]] => [name, ...spread(waitsOf(evidence, from, to))]),
)}

${renderTable(
  ['While it is away, each second', 'in the first quarter', 'in the last'],
  [
    ['lines in the logs of admission', ...ends(measures.logLines)],
    ['questions to billing', ...ends(measures.questions)],
    ['due holds that sweeps walk through', ...ends(measures.asked)],
    ['milliseconds of processor time of Redis', ...ends(inMs(measures.redisCpu))],
  ],
)}

${renderTable(
  ['Store', 'grew by', 'bytes of a call', 's left, as the alarm is told', 's left by the growth'],
  (['stream', 'redis'] as const).map((store): [string, ...string[]] => [
    store,
    megabytes(last[`${store}Bytes`] - first[`${store}Bytes`]),
    thousands(bytesPerCall[store]),
    thousands(last.secondsLeft[store]),
    thousands(expected[store]),
  ]),
)}

Stream: of ${thousands(measures.stored)} stored calls. Redis: of ${thousands(measures.held)} holds.

Catching up: ${thousands(waiting)} events within ${seconds(catchUpSeconds)} s of the start of billing, ${thousands(waiting / catchUpSeconds)} a second; billing itself took ${seconds(billingCpuSeconds)} s of
processor time.

With these bytes of a call production carries, from the moment at which billing dies, at the worst (half of the stream is settled and waits out
its hour; 100,000 accounts in Redis):

${renderTable(
  ['Sizes', ...RATES.map((rate) => `minutes at ${thousands(rate)} calls/s`)],
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
