import { randomUUID } from 'node:crypto';
import type { Tx } from '@gateway/postgres';
import { toWireFigures } from '../domain/figures.js';
import type { NewFigures } from '../domain/dated-versions.js';
import type { DatedFigures } from '../domain/objects.js';
import type { Priced } from '../ports.js';
import { versionFromRow, versionsByOwner, type VersionRow } from './rows.js';

const PRICES = { table: 'price_versions', owner: 'model', prefix: 'pv' } as const;
const COSTS = { table: 'cost_versions', owner: 'source', prefix: 'cv' } as const;
type VersionTable = typeof PRICES | typeof COSTS;

/** All versions in force or to come, of every model or every source. */
export async function readAllVersions(tx: Tx, of: 'prices' | 'costs', nowMs: number) {
  return versionsByOwner(await tx.query<VersionRow>(shownText(of === 'prices' ? PRICES : COSTS), [new Date(nowMs)]));
}

export async function readVersions(tx: Tx, priced: Priced, nowMs: number): Promise<DatedFigures[]> {
  const { table, owner } = placeOf(priced);
  const rows = await tx.query<VersionRow>(`${shownText(table, `AND v.${table.owner} = $2`)}`, [new Date(nowMs), owner]);
  return rows.map(versionFromRow);
}

export async function insertVersion(tx: Tx, priced: Priced, { effectiveFrom, figures }: NewFigures): Promise<void> {
  const { table, owner } = placeOf(priced);
  await tx.execute(
    `INSERT INTO ${table.table} (version, ${table.owner}, effective_from, figures) VALUES ($1, $2, $3, $4)`,
    [
      `${table.prefix}_${randomUUID().replaceAll('-', '')}`,
      owner,
      new Date(effectiveFrom),
      figures === null ? null : JSON.stringify(toWireFigures(figures)),
    ],
  );
}

function placeOf(priced: Priced): { table: VersionTable; owner: string } {
  return 'model' in priced ? { table: PRICES, owner: priced.model } : { table: COSTS, owner: priced.source };
}

/** `$1` is now. One index look-up per owner finds the version in force, however long its history is. */
function shownText({ table, owner }: VersionTable, condition = ''): string {
  return `SELECT v.${owner} AS owner, v.version, v.effective_from, v.figures
    FROM ${table} v
   WHERE (v.effective_from > $1 OR v.ordinal = (
           SELECT w.ordinal FROM ${table} w
            WHERE w.${owner} = v.${owner} AND w.effective_from <= $1
            ORDER BY w.effective_from DESC, w.ordinal DESC LIMIT 1)) ${condition}
   ORDER BY v.${owner}, v.effective_from, v.ordinal`;
}
