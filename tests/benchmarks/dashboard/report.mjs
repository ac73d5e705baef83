// Renders the lists and charts part of the report of `npm run bench:dashboard`.
import { cpus } from 'node:os';
import { median } from './ask.mjs';

const MEDIAN_MS_AIM = 300;
const SLOWER_AIM = 0.1;

/** Null means not measured. */
const shown = (ms) => (ms === null ? '—' : Number.isFinite(ms) ? ms.toFixed(0) : 'timed out (503)');
const grouped = (value) => Math.round(value).toLocaleString('en-US');

export function render({ records, events, rounds, filled, quiet, busy, rates, everyMs, loadBefore }) {
  const rows = [...quiet].map(([name, times]) => {
    const loaded = busy.get(name);
    const [idle, worst] = [median(times), Math.max(...times)];
    return { name, idle, worst, settling: loaded.length === 0 ? null : median(loaded) };
  });
  const slow = rows.filter(({ idle, settling }) => Math.max(idle, settling ?? 0) > MEDIAN_MS_AIM);
  const [alone, asked] = [median(rates.alone), median(rates.asked)];
  const slower = 1 - asked / alone;
  const listed = (list) => list.map(grouped).join(', ');
  return `# The pages' lists and charts at ${grouped(records)} usage records

Written by \`npm run bench:dashboard\`. The whole system on durable servers on one machine; all records are of one account
(${filled.keys.length} keys, ${filled.models.length} models, ${filled.members.length} members, 20 days), created by SQL in the ledger's format. Times are those of requests to the
pages' API over HTTP, with a user's session, to the last byte.

| Milliseconds                     | Idle: median | Idle: longest | While billing settles: median |
| -------------------------------- | -----------: | ------------: | ----------------------------: |
${rows.map(({ name, idle, worst, settling }) => `| ${name} | ${shown(idle)} | ${shown(worst)} | ${shown(settling)} |`).join('\n')}

- aim: each median at most ${MEDIAN_MS_AIM} ms; above it: ${slow.length === 0 ? 'none' : slow.map(({ name }) => name).join('; ')}
- settling a backlog of ${grouped(events)} events of 1,000 other accounts, alone: ${grouped(alone)} events/s (${listed(rates.alone)}); while one request
  of the list above is sent every ${everyMs} ms: ${grouped(asked)} events/s (${listed(rates.asked)}); medians of ${rounds} rounds
- ${slower > 0 ? `${(slower * 100).toFixed(1)} % slower` : 'no slower'} (aim: at most ${SLOWER_AIM * 100} %); one request every ${everyMs} ms equals ${grouped(20_000 / everyMs / 3)} open overviews
- date: ${new Date().toISOString().slice(0, 10)}
- machine: ${cpus()[0].model}, ${cpus().length} cores, Node ${process.versions.node}; load average before: ${loadBefore.toFixed(1)}
`;
}
