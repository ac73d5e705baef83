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
  return `# What a decision costs

Written by \`npm run bench:admission\`. Redis without a file, on the same machine as everything else. A call is
admitted, released with its cost, and closed by billing's standing: three scripts. Accounts have one key; those of a plan have a
window of each type in USD.

## Round trips of one warm decision

Messages that NATS had from its clients and to them, scripts that Redis ran, and how often it read from its clients, for each message
of an edge. What NATS has beyond 2.00 and Redis beyond 1.00 are the counting itself and the process's own watch over its stores.

${table([['calls in a message', 'to NATS', 'from NATS', 'scripts', 'reads of Redis'], ...tripRows])}

## Memory

Bytes of used_memory: of an account that is loaded, with its key and route, among ${grouped(accounts)}; what it has more after its first call
(its counters, the mark of the ended call, the minute); and of one open call of ${grouped(openCalls)}, each the only one of its account.

${table([['accounts', 'loaded', 'called', 'open call'], ...memoryRows])}

- aim: at most ${grouped(BYTES_AIM)} bytes a loaded account; measured: ${grouped(Math.round(worstBytes))}

## Processor time of a call

µs, the lower quartile of short rounds.

${table([['', 'Redis', 'admission'], ...sizeRows])}

## ${grouped(accounts)} accounts against ${grouped(fewAccounts)}

Messages of ${batch} calls of 1,000 accounts, ${grouped(calls)} calls each, in turn.

${table([['accounts', `Redis, ${grouped(fewAccounts)}`, `Redis, ${grouped(accounts)}`, 'ratio', `admission, ${grouped(fewAccounts)}`, `admission, ${grouped(accounts)}`, 'ratio'], ...scaleRows])}

- aim: Redis at most ${SCALE_AIM} times; measured: ${worstScale.toFixed(2)}
- machine: ${cpus()[0].model}, ${cpus().length} cores, Node ${process.versions.node}; load average before: ${loadBefore.toFixed(1)}
`;
}
