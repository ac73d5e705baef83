import type { PriceFigures } from '@gateway/metering';
import { refuse, type ManagementRefusal, isRefusal, type PricesSpec } from '@gateway/contracts/operator';
import { sameFigures, figuresOf, toWireFigures } from './price-rules.js';
import type { DatedFigures } from './rules.js';

/** Versions that may wait for their time, of one model or source. */
export const VERSIONS_AHEAD_MAX = 12;
/**
 * What readers get of the versions of one model or source, as JSON in bytes: it fits an entry of
 * the bucket (64 KiB), however many tiers, classes and units each has.
 */
export const VERSIONS_BYTES_MAX = 30_500;

/**
 * What a PUT asks for. `effectiveFrom` (epoch milliseconds) null: from now on. `figures` null:
 * unpriced.
 */
export interface WantedFigures {
  readonly figures: PriceFigures | null;
  readonly effectiveFrom: number | null;
}

/** A version to be written. */
export type NewFigures = Omit<DatedFigures, 'version'>;

/**
 * The version that counts at a time. `versions` ascend by time, those of one time in the order of
 * writing.
 */
export function versionAt<V extends NewFigures>(versions: readonly V[], atMs: number): V | null {
  return versions.findLast(({ effectiveFrom }) => effectiveFrom <= atMs) ?? null;
}

/**
 * The version that a PUT makes, or null when what it requests already holds at that time. A time
 * that has passed is refused, unless the figures in force have held since then: so that the same
 * document can be applied again later.
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

/** The versions with one more that is written after them. */
export function withVersion<V extends NewFigures>(versions: readonly V[], added: V): V[] {
  const later = versions.findIndex(({ effectiveFrom }) => effectiveFrom > added.effectiveFrom);
  return later < 0 ? [...versions, added] : versions.toSpliced(later, 0, added);
}

/**
 * What admission and edges get: the versions shown, and before them the one that was in force until
 * then. Their clocks are others than the database's, and calls that are running began earlier: the
 * time that they need may lie before the one in force.
 */
export function publishedVersions<V extends NewFigures>(versions: readonly V[], nowMs: number): V[] {
  const inForce = versionAt(versions, nowMs);
  const before = inForce && versionAt(versions, inForce.effectiveFrom - 1);
  return before ? [before, ...shownVersions(versions, nowMs)] : shownVersions(versions, nowMs);
}

/**
 * The version in force and those to come, one for each time: of two with one time the later written
 * counts.
 */
export function shownVersions<V extends NewFigures>(versions: readonly V[], nowMs: number): V[] {
  const inForce = versionAt(versions, nowMs);
  const ahead = versions.filter(
    ({ effectiveFrom }, index) => effectiveFrom > nowMs && versions[index + 1]?.effectiveFrom !== effectiveFrom,
  );
  return inForce ? [inForce, ...ahead] : ahead;
}

/**
 * The version that a PUT's `prices` or `costs` make: null for none (absent, or as it is already).
 */
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
