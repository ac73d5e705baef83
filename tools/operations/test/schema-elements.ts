import pg from 'pg';

/**
 * The elements of one schema that code of a release relies on, by name, each with its definition.
 */
export type SchemaElements = ReadonlyMap<string, string>;

/** All elements that a statement of older code may use or violate. */
const QUERIES = {
  column: `SELECT c.relname || '.' || a.attname AS name, format_type(a.atttypid, a.atttypmod) AS form
             FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
            WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p', 'v') AND a.attnum > 0 AND NOT a.attisdropped`,
  // An insert of older code has no value for an unknown column.
  'value demanded': `SELECT c.relname || '.' || a.attname AS name, 'without default' AS form
             FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
            WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
              AND a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''`,
  // NOT NULL is a constraint from PostgreSQL 18 on; `value demanded` covers it.
  constraint: `SELECT c.relname || '.' || k.conname AS name, pg_get_constraintdef(k.oid) AS form
             FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
            WHERE k.connamespace = $1::regnamespace AND k.conparentid = 0 AND k.contype NOT IN ('t', 'n')`,
  'unique index': `SELECT t.relname || '.' || c.relname AS name, pg_get_indexdef(c.oid) AS form
             FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
            WHERE c.relnamespace = $1::regnamespace AND i.indisunique`,
  trigger: `SELECT c.relname || '.' || t.tgname AS name, pg_get_triggerdef(t.oid) AS form
             FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
            WHERE c.relnamespace = $1::regnamespace AND NOT t.tgisinternal AND t.tgparentid = 0`,
  function: `SELECT p.oid::regprocedure::text AS name, pg_get_function_result(p.oid) AS form
             FROM pg_proc p WHERE p.pronamespace = $1::regnamespace`,
  'right to a table': `SELECT c.relname || ' ' || lower(r.privilege_type) || ' for ' || pg_get_userbyid(r.grantee) AS name, '' AS form
             FROM pg_class c, aclexplode(c.relacl) r
            WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p', 'v', 'S')`,
  'right to a column': `SELECT c.relname || '.' || a.attname || ' ' || lower(r.privilege_type) || ' for ' || pg_get_userbyid(r.grantee) AS name,
                  '' AS form
             FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid, aclexplode(a.attacl) r
            WHERE c.relnamespace = $1::regnamespace AND NOT a.attisdropped`,
  'right to a function': `SELECT p.oid::regprocedure || ' for ' || coalesce(pg_get_userbyid(nullif(r.grantee, 0)), 'all') AS name, '' AS form
             FROM pg_proc p, aclexplode(p.proacl) r WHERE p.pronamespace = $1::regnamespace`,
} as const;
type Kind = keyof typeof QUERIES;
const KINDS = Object.keys(QUERIES) as Kind[];
/** Elements whose removal only permits more. Statements name only unique constraints. */
const MAY_GO: readonly Kind[] = ['value demanded', 'trigger', 'constraint'];
/** New elements of these kinds on an existing table may refuse writes of older code. */
const DEMANDS: readonly Kind[] = ['value demanded', 'constraint', 'unique index', 'trigger'];

/** Monthly partitions are created and dropped automatically. */
const MONTH = /_\d{4}_\d{2}\b/;

export async function readElements(databaseUrl: string, schema: string): Promise<SchemaElements> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const elements = new Map<string, string>();
    for (const kind of KINDS) {
      const { rows } = await client.query<{ name: string; form: string }>(QUERIES[kind], [schema]);
      for (const { name, form } of rows) if (!MONTH.test(name)) elements.set(`${kind}: ${name}`, form);
    }
    return elements;
  } finally {
    await client.end();
  }
}

/**
 * Returns the elements of the newer schema that older code may fail on, each as `kind: name`. Empty
 * if there are only additions.
 */
export function findNarrowedElements(older: SchemaElements, newer: SchemaElements): string[] {
  const tables = new Set([...older.keys()].filter((key) => key.startsWith('column: ')).map(tableOf));
  const lost = [...older].filter(([key, form]) => {
    const now = newer.get(key);
    return now === undefined ? !MAY_GO.includes(kindOf(key)) : now !== form;
  });
  const demanded = [...newer.keys()].filter(
    (key) => !older.has(key) && DEMANDS.includes(kindOf(key)) && tables.has(tableOf(key)),
  );
  return [...lost.map(([key]) => key), ...demanded].sort();
}

function kindOf(key: string): Kind {
  return key.slice(0, key.indexOf(': ')) as Kind;
}

function tableOf(key: string): string {
  return /: ([^. ]+)/.exec(key)?.[1] ?? '';
}
