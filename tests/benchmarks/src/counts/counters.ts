/** Counters that are read from outside a gateway. Each only grows while the gateway runs. */
export type CounterName =
  /** Messages with entries for admission, and the entries in them: admissions and releases. */
  | 'admissionBatches'
  | 'admissionEntries'
  /** Settling transactions of billing, and the usage events in them. */
  | 'settlements'
  | 'settledEvents'
  /** Messages in the usage stream, and their bytes. */
  | 'usageMessages'
  | 'usageBytes'
  | 'busMessagesIn'
  | 'busMessagesOut'
  | 'busBytesIn'
  | 'busBytesOut'
  /** Runs of scripts and functions, and all other commands, including those within scripts. */
  | 'redisScripts'
  | 'redisCommands'
  | 'redisBytesIn'
  | 'redisAppendedBytes'
  | 'walBytes';

/** The counters that could be read. */
export type Counters = Readonly<Partial<Record<CounterName, number>>>;

/** Returns after minus before, for the counters in both readings. */
export function subtractCounters(after: Counters, before: Counters): Counters {
  const names = Object.keys(after) as CounterName[];
  return Object.fromEntries(
    names.flatMap((name) => {
      const grown = (after[name] ?? NaN) - (before[name] ?? NaN);
      return Number.isFinite(grown) ? [[name, grown]] : [];
    }),
  );
}
