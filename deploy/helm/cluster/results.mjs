// Formats the table of a run. A request belongs to the step in which it began, a stream to the one
// in which it ended. Requests before the first step and streams after the last are left out.

/**
 * @typedef {{ name: string, from: number, to: number }} Step times in ms since the epoch, `to` exclusive
 * @typedef {{ kind: 'call' | 'stream', at: number, ms: number, status: number | null, problem: string | null }} Line of load.mjs
 */

/**
 * @param {{ steps: readonly Step[], lines: readonly Line[], version: string, nodes: number }} run
 */
export function renderResults({ steps, lines, version, nodes }) {
  const rows = steps.map((step) => {
    const { calls, refused, slowestMs, streams, cut, problems } = tally(step, lines);
    const causes = [...problems].map(([problem, times]) => `${problem} ${times}`).join(', ');
    const seconds = Math.round((step.to - step.from) / 1000);
    return `| ${step.name} | ${seconds} s | ${calls} | ${refused} | ${slowestMs} ms | ${streams} | ${cut} | ${causes} |`;
  });
  return `# The chart on a cluster

Kubernetes ${version}, ${nodes} node${nodes === 1 ? ', so none was drained' : 's'}; PostgreSQL, NATS and Redis as one pod each; 20 plain calls a second beside 40 open streams of
half a minute. Written by \`npm run check:cluster\`.

| Step | Took | Calls | Refused | Slowest | Streams ended | Cut | Causes |
| --- | --- | --- | --- | --- | --- | --- | --- |
${rows.join('\n')}
`;
}

/**
 * @param {Step} step
 * @param {readonly Line[]} lines
 */
export function tally({ from, to }, lines) {
  const within = (time) => time >= from && time < to;
  const calls = lines.filter(({ kind, at }) => kind === 'call' && within(at));
  const streams = lines.filter(({ kind, at, ms }) => kind === 'stream' && within(at + ms));
  const failed = [...calls, ...streams].filter(({ problem }) => problem !== null);
  const problems = new Map();
  for (const { problem } of failed) problems.set(problem, (problems.get(problem) ?? 0) + 1);
  return {
    calls: calls.length,
    refused: calls.filter(({ problem }) => problem !== null).length,
    slowestMs: calls.reduce((most, { ms }) => Math.max(most, ms), 0),
    streams: streams.length,
    cut: streams.filter(({ problem }) => problem !== null).length,
    problems,
  };
}
