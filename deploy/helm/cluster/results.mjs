// Formats the table of a run. Requests and streams count in the step in which they ended. A stream
// that gets no 200 is a refused request.

/**
 * @typedef {{ name: string, from: number, to: number, bound: readonly [refusedSeconds: number, cut: number] }} Step times in ms since the epoch, `to` exclusive
 * @typedef {import('./load.mjs').Line} Line
 */

/**
 * @param {readonly Step[]} steps
 * @param {readonly Line[]} lines
 */
export function renderSteps(steps, lines) {
  const rows = steps.map((step) => {
    const { calls, refused, refusedSeconds, slowestMs, streams, cut, problems, isWithin } = tally(step, lines);
    const causes = [...problems].map(([problem, times]) => `${problem} ${times}`).join(', ');
    const seconds = Math.round((step.to - step.from) / 1000);
    const during = refused === 0 ? '' : ` in ${refusedSeconds.toFixed(1)} s`;
    return `| ${step.name}${isWithin ? '' : ' **failed**'} | ${seconds} s | ${calls} | ${refused}${during} | ${slowestMs} ms | ${streams} | ${cut} | ${causes} |\n`;
  });
  return `| Step | Took | Requests | Refused | Slowest | Streams ended | Cut | Causes |
| --- | --- | --- | --- | --- | --- | --- | --- |
${rows.join('')}`;
}

/**
 * @param {Step} step
 * @param {readonly Line[]} lines
 */
export function tally({ from, to, bound: [refusedSecondsMax, cutMax] }, lines) {
  const ended = lines.filter(({ at, ms }) => at + ms >= from && at + ms < to);
  const isStream = ({ kind, status }) => kind === 'stream' && status === 200;
  const calls = ended.filter((line) => !isStream(line));
  const streams = ended.filter(isStream);
  const refused = calls.filter(({ problem }) => problem !== null);
  const cut = streams.filter(({ problem }) => problem !== null).length;
  const problems = new Map();
  for (const { problem } of [...calls, ...streams]) problems.set(problem, (problems.get(problem) ?? 0) + 1);
  problems.delete(null);
  const begunAt = Math.min(...refused.map(({ at }) => at));
  const refusedSeconds =
    refused.length === 0 ? 0 : (Math.max(...refused.map(({ at, ms }) => at + ms)) - begunAt) / 1000;
  return {
    calls: calls.length,
    refused: refused.length,
    refusedSeconds,
    slowestMs: calls.reduce((most, { ms }) => Math.max(most, ms), 0),
    streams: streams.length,
    cut,
    problems,
    isWithin: calls.length > 0 && (refused.length === 0 || refusedSeconds < refusedSecondsMax) && cut <= cutMax,
  };
}
