import { renderTable } from '@gateway/testkit';
import { SOAK_MIX } from '../faults/call-plan.js';
import type { Evidence } from '../faults/evidence.js';
import type { Resources } from '../faults/read-resources.js';

export interface SoakFigures {
  readonly minutes: number;
  readonly seed: number;
  /** Resources of each process in each pause. */
  readonly rests: readonly (readonly Resources[])[];
  readonly evidence: Evidence;
  readonly violations: number;
  /** One sentence per resource that grew. */
  readonly grown: readonly string[];
}

const MEGABYTE = 1024 * 1024;

/** Renders the results of a soak as Markdown, without a date. */
export function renderSoak({ minutes, seed, rests, evidence, violations, grown }: SoakFigures): string {
  const { calls, provider, records } = evidence;
  const streams = calls.filter(({ streamed, ending }) => streamed && ending !== 'refused');
  const left = streams.filter(({ ending }) => ending === 'left').length;
  const share = Math.round((100 * left) / Math.max(1, streams.length));
  const slow = Math.round(100 * SOAK_MIX.slow);
  const rows = (rests[0] ?? []).map(({ replica }) => {
    const of = rests.flatMap((rest) => rest.find((one) => one.replica === replica) ?? []);
    const cells = of.map(({ heapBytes, residentBytes, sockets, timers }) =>
      [(heapBytes / MEGABYTE).toFixed(1), Math.round(residentBytes / MEGABYTE), sockets, timers].join(' · '),
    );
    return [replica, ...cells];
  });
  const head = ['Process', ...rests.map((_, index) => `pause ${index + 1}`)];
  return `# A long run

\`npm run prove:soak -- --minutes ${minutes} --seed ${seed}\`: ${thousands(calls.length)} requests from the official clients and from raw sockets over
two replicas of edge-proxy, admission and billing, and a proxy on every link between processes. ${thousands(streams.length)} streams were admitted.
Clients abandoned ${share} % of them, and paused after every read in ${slow} %. ${thousands(provider.length)} attempts reached the provider,
${thousands(records.length)} usage records were written.

After each ${ordinal(rests.length)} of the time the load pauses for a few seconds, and every process collects its garbage. Resources then: MB of heap and
buffers · MB resident · sockets · timers.

${renderTable(head, rows)}

Growth from the second pause to the last: ${grown.length === 0 ? 'none' : grown.join('; ')}. Differences found by the checker: ${violations}.
`;
}

function ordinal(count: number): string {
  return `${count}th`;
}

function thousands(count: number): string {
  return count.toLocaleString('en');
}
