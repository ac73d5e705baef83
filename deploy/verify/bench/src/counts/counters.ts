/** What is counted at a gateway from outside; each only ever grows while it runs. */
export type CounterName =
  /** Messages with entries at admission, and the entries in them: admissions and releases. */
  | 'admissionBatches'
  | 'admissionEntries'
  /** Transactions of billing that settle, and the usage events in them. */
  | 'settlements'
  | 'settledEvents'
  /** Messages in the stream of usage, and their bytes. */
  | 'usageMessages'
  | 'usageBytes'
  | 'busMessagesIn'
  | 'busMessagesOut'
  | 'busBytesIn'
  | 'busBytesOut'
  /** Runs of scripts and functions, and commands beside them, those within scripts included. */
  | 'redisScripts'
  | 'redisCommands'
  | 'redisBytesIn'
  | 'redisAppendedBytes'
  | 'walBytes';

/** Those that could be read. */
export type Counters = Readonly<Partial<Record<CounterName, number>>>;

/** After less before; only what both readings have. */
export function differenceOf(after: Counters, before: Counters): Counters {
  const names = Object.keys(after) as CounterName[];
  return Object.fromEntries(
    names.flatMap((name) => {
      const grown = (after[name] ?? NaN) - (before[name] ?? NaN);
      return Number.isFinite(grown) ? [[name, grown]] : [];
    }),
  );
}
