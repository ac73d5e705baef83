import type { PriceFigures } from '@gateway/metering';
import { refuse, type ManagementRefusal, isRefusal, type PricesSpec } from '@gateway/contracts/operator';
import { sameFigures, figuresOf, toWireFigures } from './price-rules.js';
import type { DatedFigures } from './rules.js';

/** Maximum number of later versions of one model or source. */
export const VERSIONS_AHEAD_MAX = 12;
/**
 * Maximum JSON bytes of the published versions of one model or source, so that they fit into an
 * entry of the bucket (64 KiB) with any number of tiers, classes and units.
 */
export const VERSIONS_BYTES_MAX = 30_500;

/**
 * The figures of a PUT. Null `effectiveFrom` (epoch milliseconds): from now on. Null `figures`:
 * unpriced.
 */
export interface WantedFigures {
  readonly figures: PriceFigures | null;
  readonly effectiveFrom: number | null;
}

/** A new version without its ID. */
export type NewFigures = Omit<DatedFigures, 'version'>;

/** Returns the version that applies at a time. `versions` are sorted by time, then by writing. */
export function versionAt<V extends NewFigures>(versions: readonly V[], atMs: number): V | null {
  return versions.findLast(({ effectiveFrom }) => effectiveFrom <= atMs) ?? null;
}

/**
 * Returns the version that a PUT creates. Null: its figures already apply at that time. A past time
 * is refused unless the figures in force have applied since then, so that the same document can be
 * applied again later.
 */
export function planVersion(
  versions: readonly DatedFigures[],
  { figures, effectiveFrom }: WantedFigures,
  nowMs: number,
  param: 'prices' | 'costs',
): NewFigures | null | ManagementRefusal {
  const fromMs = effectiveFrom ?? nowMs;
  if (fromMs < nowMs) {
    const inForce = versionAt(versions, nowMs);
    if (inForce && inForce.effectiveFrom <= fromMs && sameFigures(inForce.figures, figures)) return null;
    return refuse('invalid_request', `${param} cannot change in the past`, `${param}.effectiveFrom`);
  }
  const before = versionAt(versions, fromMs);
  if (sameFigures(before?.figures ?? null, figures)) return null;
  const ahead = shownVersions(versions, nowMs).filter((version) => version.effectiveFrom > nowMs);
  const replaces = ahead.some((version) => version.effectiveFrom === fromMs);
  if (fromMs > nowMs && !replaces && ahead.length >= VERSIONS_AHEAD_MAX)
    return refuse('state_conflict', `${VERSIONS_AHEAD_MAX} versions of ${param} are waiting for their time`, param);
  const made = { effectiveFrom: fromMs, figures };
  if (bytesOf(publishedVersions(withVersion<NewFigures>(versions, made), nowMs)) > VERSIONS_BYTES_MAX)
    return refuse('state_conflict', `the versions of ${param} are too large together`, param);
  return made;
}

function bytesOf(versions: readonly NewFigures[]): number {
  const figures = versions.map((version) => version.figures && toWireFigures(version.figures));
  return JSON.stringify(figures).length;
}

/** Inserts a version that is written after the others. */
export function withVersion<V extends NewFigures>(versions: readonly V[], added: V): V[] {
  const later = versions.findIndex(({ effectiveFrom }) => effectiveFrom > added.effectiveFrom);
  return later < 0 ? [...versions, added] : versions.toSpliced(later, 0, added);
}

/**
 * Returns the versions that admission and edges get: the shown ones, and the one that was in force
 * before them. It is needed because their clocks differ from the database's and running calls began
 * earlier.
 */
export function publishedVersions<V extends NewFigures>(versions: readonly V[], nowMs: number): V[] {
  const inForce = versionAt(versions, nowMs);
  const before = inForce && versionAt(versions, inForce.effectiveFrom - 1);
  return before ? [before, ...shownVersions(versions, nowMs)] : shownVersions(versions, nowMs);
}

/**
 * Returns the version in force and one for each later time. Of versions with the same time, the
 * last written one applies.
 */
export function shownVersions<V extends NewFigures>(versions: readonly V[], nowMs: number): V[] {
  const inForce = versionAt(versions, nowMs);
  const ahead = versions.filter(
    ({ effectiveFrom }, index) => effectiveFrom > nowMs && versions[index + 1]?.effectiveFrom !== effectiveFrom,
  );
  return inForce ? [inForce, ...ahead] : ahead;
}

/** Returns the version that `prices` or `costs` create. Null: they are absent or equal. */
export function planFigures(
  spec: PricesSpec | null | undefined,
  versions: readonly DatedFigures[],
  nowMs: number,
  param: 'prices' | 'costs',
): NewFigures | null | ManagementRefusal {
  if (spec === undefined) return null;
  if (spec === null) return planVersion(versions, { figures: null, effectiveFrom: null }, nowMs, param);
  const figures = figuresOf(spec, param);
  if (isRefusal(figures)) return figures;
  const effectiveFrom = spec.effectiveFrom === undefined ? null : Date.parse(spec.effectiveFrom);
  return planVersion(versions, { figures, effectiveFrom }, nowMs, param);
}
