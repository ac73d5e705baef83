import type { Tx } from '@gateway/postgres';
import { texts } from '../ledger/array-sql.js';
import { DATABASE_IDENTITY_SQL } from '../ledger/sql.js';

/** Maximum of cached names per process: about 15 MB. */
const CACHED_MAX = 100_000;

/** Numbers that a transaction has read or assigned; valid after its commit. */
export interface NameNumbers {
  readonly database: string;
  readonly found: ReadonlyMap<string, number>;
}

/** Reads the identity of this connection's database; another one may lack committed numbers. */
export async function readDatabaseMark(tx: Tx): Promise<string> {
  const row = await tx.one<{ mark: string }>(`SELECT ${DATABASE_IDENTITY_SQL} AS mark FROM ledger_state`, [], {
    name: 'database_mark',
  });
  if (row === null) throw new Error('ledger_state is empty');
  return row.mark;
}

export type Names = ReturnType<typeof createNames>;

/** Creates the cache of the names' numbers; each process keeps the names that it added last. */
export function createNames() {
  const known = new Map<string, number>();
  let knownOf = '';
  return {
    /** Returns the cached numbers of the wanted names, and the names that are not cached. */
    recall(wanted: Iterable<string>, database: string): { numbers: Map<string, number>; unknown: string[] } {
      const numbers = new Map<string, number>();
      const unknown = new Set<string>();
      for (const name of wanted) {
        const number = database === knownOf ? known.get(name) : undefined;
        if (number === undefined) unknown.add(name);
        else numbers.set(name, number);
      }
      return { numbers, unknown: [...unknown] };
    },
    /** Caches the numbers after the commit of the transaction that found them. */
    committed({ database, found }: NameNumbers): void {
      if (database !== knownOf) known.clear();
      knownOf = database;
      for (const [name, number] of found) {
        const oldest = known.size >= CACHED_MAX ? known.keys().next().value : undefined;
        if (oldest !== undefined) known.delete(oldest);
        known.set(name, number);
      }
    },
  };
}

/**
 * Assigns numbers to new names and tolerates concurrent inserts of the same names. The inserts are
 * sorted, so that two concurrent workers cannot deadlock.
 */
export async function addNames(tx: Tx, names: readonly string[]): Promise<void> {
  await tx.execute(
    `INSERT INTO names (name) SELECT name FROM unnest($1::text[]) AS new (name) ORDER BY name COLLATE "C"
     ON CONFLICT DO NOTHING`,
    [texts(names)],
    { name: 'add_names' },
  );
}

export async function readNumbers(tx: Tx, names: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx.query<{ name: string; number: number }>(
    'SELECT name, number FROM names WHERE name = ANY ($1::text[])',
    [texts(names)],
    { name: 'read_names' },
  );
  return new Map(rows.map(({ name, number }) => [name, number]));
}
