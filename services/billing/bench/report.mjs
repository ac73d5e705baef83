// Renders the report of `npm run bench:billing`.
import { cpus } from 'node:os';

const EXPECTED_PER_SECOND = 15_000;
const FLAT_WITHIN = 1.3;
const CORES = cpus().length;

const grouped = (value) => value.toLocaleString('en-US');

export function lineOf({ earlier, accounts, events, perSecond, billingMicros, postgresMicros }) {
  const cells = [earlier, accounts, events, Math.round(perSecond)].map(grouped);
  return `| ${[...cells, billingMicros.toFixed(1), postgresMicros.toFixed(1)].join(' | ')} |`;
}

export function render({ rows, caughtUp, earlierCounts, accounts, loadBefore, size }) {
  const totalOf = ({ billingMicros, postgresMicros }) => billingMicros + postgresMicros;
  const [fewest, most] = [earlierCounts[0], earlierCounts.at(-1)];
  const flatness = [accounts, 1].map((of) => {
    const costAt = (earlier) => totalOf(rows.find((row) => row.accounts === of && row.earlier === earlier));
    return `${(costAt(most) / costAt(fewest)).toFixed(2)} with ${grouped(of)} account${of === 1 ? '' : 's'}`;
  });
  const { backlog, backlogSeconds, liveRate, seconds, ratio } = caughtUp;
  const worst = rows.reduce((one, other) => (totalOf(other) > totalOf(one) ? other : one));
  const bound = 1e6 / Math.max(worst.billingMicros, totalOf(worst) / CORES);
  return `# One billing process: from the stream to the committed ledger

Written by \`npm run bench:billing\`. The durable servers, the sender and billing run on one machine, with ${size} events
per message. Every event is a wallet-funded call with one attempt whose cost is known. It writes one record, four entries,
three balances, a part of an hour of use, and a link of the hash chain. Earlier records were inserted by SQL in the ledger's
form (\`bench/fill-ledger.mjs\`). The audit finds no difference in the ledger with the first ${grouped(fewest)} of them and
the events that were settled afterwards. The CPU columns contain the time of the process and of its database sessions. The
sender, NATS and the database's background writers share the cores, but are not included. Events/s depend on the load of the
machine; CPU times hardly do.

| Earlier records | Accounts | Events | Events/s | Billing CPU µs per event | PostgreSQL CPU µs per event |
| --------------: | -------: | -----: | -------: | -----------------------: | --------------------------: |
${rows.map(lineOf).join('\n')}

- expected: at least ${grouped(EXPECTED_PER_SECOND)} events/s with ${grouped(accounts)} accounts; measured: ${grouped(Math.round(rows[0].perSecond))}
- maximum by the CPU times on ${CORES} free cores, from the row with the highest CPU time: ${grouped(Math.round(bound))} events/s
- CPU time per event after ${grouped(most)} records relative to ${grouped(fewest)}: ${flatness.join(', ')} (expected: at most ${FLAT_WITHIN})
- ${grouped(backlog)} events of ${backlogSeconds} s (${caughtUp.size} per message) with ${grouped(liveRate)} events/s arriving: caught up in ${seconds.toFixed(1)} s, at ${ratio.toFixed(1)} times the live rate
- date: ${new Date().toISOString().slice(0, 10)}
- machine: ${cpus()[0].model}, ${CORES} cores, Node ${process.versions.node}; load average before: ${loadBefore.toFixed(1)}
`;
}
