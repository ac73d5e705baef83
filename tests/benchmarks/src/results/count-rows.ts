import type { CallCounts } from '../counts/count-calls.js';
import type { CounterName } from '../counts/counters.js';

/** One row of the table of counts, with a value for each column. NaN: unknown. */
export interface CountRow {
  readonly what: string;
  readonly values: readonly number[];
}

/** Smallest size, in bytes per call, of a table that is listed separately. */
const TABLE_BYTES_MIN = 10;

type Value = (counts: CallCounts) => number;

/** Number of calls, or of seconds if no call ran. */
const per = ({ calls, seconds, scenario }: CallCounts): number => (scenario === null ? seconds : calls);
const counted =
  (name: CounterName): Value =>
  ({ counters }) =>
    counters[name] ?? NaN;
const each =
  (name: CounterName): Value =>
  (counts) =>
    counted(name)(counts) / per(counts);
const within =
  (many: CounterName, of: CounterName): Value =>
  (counts) =>
    counted(many)(counts) / counted(of)(counts);

/** Bytes on the bus: each message once, and usage again on its way out of its stream. */
export const busBytes: Value = (counts) =>
  (counted('busBytesIn')(counts) + counted('usageBytes')(counts)) / per(counts);
export const walBytes: Value = each('walBytes');
export const keptBytes: Value = (counts) => {
  const tables = Object.values(counts.tableBytes);
  return tables.length === 0 ? NaN : tables.reduce((sum, bytes) => sum + bytes, 0) / per(counts);
};

const ROWS: readonly (readonly [what: string, value: Value])[] = [
  ['messages with entries to admission', each('admissionBatches')],
  ['entries (admissions and releases) in each of these', within('admissionEntries', 'admissionBatches')],
  ['usage messages', each('usageMessages')],
  ['usage events in each of these', within('settledEvents', 'usageMessages')],
  ['settling transactions', each('settlements')],
  ['usage events in each of these', within('settledEvents', 'settlements')],
  ['messages into the bus', each('busMessagesIn')],
  ['messages out of the bus', each('busMessagesOut')],
  ['bytes into the bus', each('busBytesIn')],
  ['bytes out of the bus', each('busBytesOut')],
  ['bytes on the bus, usage in and out of its stream', busBytes],
  ['script runs in Redis', each('redisScripts')],
  ['other commands in Redis, including those within scripts', each('redisCommands')],
  ['bytes into Redis', each('redisBytesIn')],
  ["bytes in Redis' append-only file", each('redisAppendedBytes')],
  ['bytes in the write-ahead log of PostgreSQL', walBytes],
  ['bytes kept in the ledger with indexes', keptBytes],
];

/** Returns the rows of one gateway's table, with a value for each of `columns`. */
export function countRows(columns: readonly CallCounts[]): CountRow[] {
  const tableBytes =
    (table: string): Value =>
    (counts) =>
      (counts.tableBytes[table] ?? 0) / per(counts);
  const kept = namesOf(columns, ({ tableBytes: bytes }) => bytes)
    .map((table) => ({ what: `of it ${table}`, values: columns.map(tableBytes(table)) }))
    .filter(({ values }) => values.some((bytes, at) => columns[at]?.scenario !== null && bytes >= TABLE_BYTES_MIN))
    .sort((a, b) => Math.max(...b.values) - Math.max(...a.values));
  const wakeUps = namesOf(columns, ({ wakeUps: waits }) => waits).map((process) => ({
    what: `of it ${process}`,
    values: columns.map((counts) => (counts.wakeUps[process] ?? NaN) / per(counts)),
  }));
  const all = columns.map((counts) => Object.values(counts.wakeUps).reduce((sum, one) => sum + one, 0) / per(counts));
  return [
    ...ROWS.map(([what, value]) => ({ what, values: columns.map(value) })),
    ...kept,
    { what: 'wake-ups', values: all },
    ...wakeUps,
  ];
}

function namesOf(
  columns: readonly CallCounts[],
  of: (counts: CallCounts) => Readonly<Record<string, number>>,
): readonly string[] {
  return [...new Set(columns.flatMap((counts) => Object.keys(of(counts))))];
}
