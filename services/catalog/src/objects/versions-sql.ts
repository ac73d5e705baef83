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

/**
 * The versions that `publishedVersions` needs: in force, to come, and those of the time before the
 * one in force. Of every model or every source, or of these.
 */
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
      : await tx.query<VersionRow>(shownText(table, 'WHERE o.id = ANY ($2)'), [now, owners]);
  return versionsByOwner(rows);
}

/**
 * `$1` is now. Two index look-ups per owner find where to begin, however long its history is: made
 * apart, they are not made again for each of its versions.
 */
function shownText({ table, owner, owners }: VersionTable, condition = ''): string {
  const latest = (alias: string, until: string): string => `(
    SELECT max(${alias}.effective_from) FROM ${table} ${alias}
     WHERE ${alias}.${owner} = o.id AND ${alias}.ordinal > o.versions_after AND ${alias}.effective_from ${until})`;
  return `WITH begun AS MATERIALIZED (
      SELECT o.id, o.versions_after, coalesce(${latest('b', `< ${latest('w', '<= $1')}`)}, '-infinity') AS since
        FROM ${owners} o ${condition})
    SELECT v.${owner} AS owner, v.version, v.effective_from, v.figures
      FROM begun JOIN ${table} v
        ON v.${owner} = begun.id AND v.ordinal > begun.versions_after AND v.effective_from >= begun.since
     ORDER BY v.${owner}, v.effective_from, v.ordinal`;
}
