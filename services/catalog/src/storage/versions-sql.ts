import { randomUUID } from 'node:crypto';
import type { Tx } from '@gateway/postgres';
import type { NewFigures } from '../objects/version-rules.js';
import type { DatedFigures } from '../objects/rules.js';
import { versionsByOwner, type VersionRow } from './rows-sql.js';

export type VersionOwner = { readonly model: string } | { readonly source: string };

const TABLES = {
  prices: { table: 'price_versions', owner: 'model', owners: 'models', prefix: 'pv' },
  costs: { table: 'cost_versions', owner: 'source', owners: 'sources', prefix: 'cv' },
} as const;
type VersionTable = (typeof TABLES)['prices' | 'costs'];

export type VersionsByOwner = ReadonlyMap<string, readonly DatedFigures[]>;

export function versionTable(of: 'prices' | 'costs'): VersionTable {
  return TABLES[of];
}

export function toVersionOwner(priced: VersionOwner): { readonly of: 'prices' | 'costs'; readonly owner: string } {
  return 'model' in priced ? { of: 'prices', owner: priced.model } : { of: 'costs', owner: priced.source };
}

/** Adds a new ID to the figures. */
export function newVersion(of: 'prices' | 'costs', figures: NewFigures): DatedFigures {
  return { version: `${TABLES[of].prefix}_${randomUUID().replaceAll('-', '')}`, ...figures };
}

/**
 * Reads the versions that `publishedVersions` needs: in force, later, and those with the time
 * before the one in force. They belong to all models or sources, or to the given ones.
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
 * Builds the query; `$1` is the current time. Two index look-ups per owner find the first version,
 * for a history of any length. The CTE is materialized so that they are not repeated for each
 * version.
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
