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

Written by \`npm run bench:billing\`. Durable servers on the same machine as everything else; ${size} events to a message;
every event is a wallet-funded call with one attempt whose cost is known: one record, four entries, three balances, its
share of an hour of use, its link in the hash chain. Earlier records were made by SQL in the ledger's form
(\`bench/fill-ledger.mjs\`); the audit of the ledger with the first ${grouped(fewest)} of them and with what was settled
after them names nothing. Processor time is that of the process and of its database sessions; the sender, NATS and the
database's own writers share the cores and are in no column. Events/s follow whatever else the machine does; processor times
hardly do.

| Earlier records | Accounts | Events | Events/s | Billing CPU µs an event | PostgreSQL CPU µs an event |
| --------------: | -------: | -----: | -------: | ----------------------: | -------------------------: |
${rows.map(lineOf).join('\n')}

- expected: at least ${grouped(EXPECTED_PER_SECOND)} events/s with ${grouped(accounts)} accounts; measured: ${grouped(Math.round(rows[0].perSecond))}
- what the processor times allow on ${CORES} free cores in the worst of these rows: ${grouped(Math.round(bound))} events/s
- cost of an event after ${grouped(most)} records against ${grouped(fewest)}: ${flatness.join(', ')} (expected: at most ${FLAT_WITHIN})
- ${grouped(backlog)} events of ${backlogSeconds} s (${caughtUp.size} to a message) with ${grouped(liveRate)} events/s arriving: caught up in ${seconds.toFixed(1)} s, at ${ratio.toFixed(1)} times the live rate
- date: ${new Date().toISOString().slice(0, 10)}
- machine: ${cpus()[0].model}, ${CORES} cores, Node ${process.versions.node}; load average before: ${loadBefore.toFixed(1)}
`;
}
