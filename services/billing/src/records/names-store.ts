import type { Tx } from '@gateway/postgres';
import { texts } from '../ledger/array-sql.js';
import { DATABASE_MARK } from '../ledger/sql.js';

/** Names that a process remembers, with their numbers: about 15 MB. */
const REMEMBERED_MAX = 100_000;

/** Numbers that a transaction found or gave; they count when it is committed. */
export interface FoundNames {
  readonly database: string;
  readonly found: ReadonlyMap<string, number>;
}

/** Which database this connection sees: another one may have lost numbers that were committed. */
export async function readDatabaseMark(tx: Tx): Promise<string> {
  const row = await tx.one<{ mark: string }>(`SELECT ${DATABASE_MARK} AS mark FROM ledger_state`, [], {
    name: 'database_mark',
  });
  if (row === null) throw new Error('the database has no mark');
  return row.mark;
}

export type Names = ReturnType<typeof createNames>;

/** The numbers of names, of which each process remembers those that it met last. */
export function createNames() {
  const known = new Map<string, number>();
  let knownOf = '';
  return {
    /** What is remembered of the wanted names, and the others. */
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
    /** The transaction is committed: what it found is true for all who come after it. */
    committed({ database, found }: FoundNames): void {
      if (database !== knownOf) known.clear();
      knownOf = database;
      for (const [name, number] of found) {
        const oldest = known.size >= REMEMBERED_MAX ? known.keys().next().value : undefined;
        if (oldest !== undefined) known.delete(oldest);
        known.set(name, number);
      }
    },
  };
}

/**
 * Gives numbers to names that were not found, whoever adds them meanwhile. In sorted order, so that
 * two workers that meet wait for each other in one direction only.
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
