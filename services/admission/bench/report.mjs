// Renders the report of `npm run bench:admission`.
import { cpus } from 'node:os';

const BYTES_AIM = 1_024;
const SCALE_AIM = 1.2;
const grouped = (value) => value.toLocaleString('en-US');

function table([head, ...rows]) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_cell, at) => (at === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}

export function renderFigures({ trips, kinds, accounts, fewAccounts, calls, loadBefore, batch, openCalls }) {
  const tripRows = trips.map(({ entries, toBus, fromBus, scripts, reads }) =>
    [entries, ...[toBus, fromBus, scripts, reads].map((count) => count.toFixed(2))].map(String),
  );
  const memoryRows = kinds.map(({ name, memory }) => [
    name,
    ...[memory.account, memory.called, memory.open].map((bytes) => grouped(Math.round(bytes))),
  ]);
  const sizeRows = kinds.flatMap(({ name, sizes }) =>
    Object.entries(sizes).map(([size, { redis, admission }]) => [
      `${name}, ${size} calls`,
      redis.toFixed(1),
      admission.toFixed(1),
    ]),
  );
  const scaleRows = kinds.map(({ name, scale: { few, many } }) => [
    name,
    ...[few.redis, many.redis].map((micros) => micros.toFixed(1)),
    (many.redis / few.redis).toFixed(2),
    ...[few.admission, many.admission].map((micros) => micros.toFixed(1)),
    (many.admission / few.admission).toFixed(2),
  ]);
  const worstBytes = Math.max(...kinds.map(({ memory }) => memory.account));
  const worstScale = Math.max(...kinds.flatMap(({ scale: { few, many } }) => [many.redis / few.redis]));
  return `# Cost of a decision

Written by \`npm run bench:admission\`. Redis runs without a file, on the same machine as all other processes.
Each call takes three scripts: it is admitted, released with its cost, and closed by billing's snapshot. Accounts have one key.
Accounts on a plan have a window of each type in USD.

## Round trips of one decision with cached records

Messages that NATS received from and sent to its clients, scripts that Redis ran, and its reads from clients, per message
of an edge. Values above 2.00 for NATS and 1.00 for Redis come from the measurement and from the process's polls of its stores.

${table([['calls in a message', 'to NATS', 'from NATS', 'scripts', 'reads of Redis'], ...tripRows])}

## Memory

Bytes of used_memory, with ${grouped(accounts)} accounts: a loaded account with its key and key reference; the increase after its first call
(its counters, the tombstone of the ended call, the minute); and one of ${grouped(openCalls)} open calls, each in its own account.

${table([['accounts', 'loaded', 'called', 'open call'], ...memoryRows])}

- aim: at most ${grouped(BYTES_AIM)} bytes per loaded account; measured: ${grouped(Math.round(worstBytes))}

## Processor time per call

Microseconds: the lower quartile of short rounds.

${table([['', 'Redis', 'admission'], ...sizeRows])}

## ${grouped(accounts)} accounts compared with ${grouped(fewAccounts)}

Messages with ${batch} calls of 1,000 accounts, ${grouped(calls)} calls for each store, in alternating rounds.

${table([['accounts', `Redis, ${grouped(fewAccounts)}`, `Redis, ${grouped(accounts)}`, 'ratio', `admission, ${grouped(fewAccounts)}`, `admission, ${grouped(accounts)}`, 'ratio'], ...scaleRows])}

- aim: Redis at most ${SCALE_AIM} times; measured: ${worstScale.toFixed(2)}
- machine: ${cpus()[0].model}, ${cpus().length} cores, Node ${process.versions.node}; load average before: ${loadBefore.toFixed(1)}
`;
}
