import { randomUUID } from 'node:crypto';
import type { Tx } from '@gateway/postgres';
import type { NewFigures } from './version-rules.js';
import type { DatedFigures } from './rules.js';
import { versionsByOwner, type VersionRow } from './rows-sql.js';

/** What a price version belongs to. */
export type Priced = { readonly model: string } | { readonly source: string };

const TABLES = {
  prices: { table: 'price_versions', owner: 'model', owners: 'models', prefix: 'pv' },
  costs: { table: 'cost_versions', owner: 'source', owners: 'sources', prefix: 'cv' },
} as const;
type VersionTable = (typeof TABLES)['prices' | 'costs'];

export type VersionsByOwner = ReadonlyMap<string, readonly DatedFigures[]>;

export function versionTable(of: 'prices' | 'costs'): VersionTable {
  return TABLES[of];
}

/** Whose versions, in which table. */
export function placeOf(priced: Priced): { readonly of: 'prices' | 'costs'; readonly owner: string } {
  return 'model' in priced ? { of: 'prices', owner: priced.model } : { of: 'costs', owner: priced.source };
}

/** The figures with an id of their own. */
export function newVersion(of: 'prices' | 'costs', figures: NewFigures): DatedFigures {
  return { version: `${TABLES[of].prefix}_${randomUUID().replaceAll('-', '')}`, ...figures };
}

/** All versions in force or to come, of every model or every source, or of these. */
export async function readVersions(
  tx: Tx,
  of: 'prices' | 'costs',
  nowMs: number,
  owners: readonly string[] | null = null,
): Promise<VersionsByOwner> {
  const table = TABLES[of];
  const now = new Date(nowMs);
  const rows =
    owners === null
      ? await tx.query<VersionRow>(shownText(table), [now])
      : await tx.query<VersionRow>(shownText(table, `AND v.${table.owner} = ANY ($2)`), [now, owners]);
  return versionsByOwner(rows);
}

/**
 * `$1` is now. One index look-up per owner finds the version in force, however long its history is.
 */
function shownText({ table, owner, owners }: VersionTable, condition = ''): string {
  return `SELECT v.${owner} AS owner, v.version, v.effective_from, v.figures
    FROM ${table} v JOIN ${owners} o ON o.id = v.${owner} AND v.ordinal > o.versions_after
   WHERE (v.effective_from > $1 OR v.ordinal = (
           SELECT w.ordinal FROM ${table} w
            WHERE w.${owner} = v.${owner} AND w.effective_from <= $1 AND w.ordinal > o.versions_after
            ORDER BY w.effective_from DESC, w.ordinal DESC LIMIT 1)) ${condition}
   ORDER BY v.${owner}, v.effective_from, v.ordinal`;
}
