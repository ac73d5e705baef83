import type { DatedVersion, PricedVersion } from '@gateway/contracts/messages';

/**
 * The version in force: the last one whose time has come. Null when there is none, or it says
 * "unpriced".
 */
export function versionAt(versions: readonly DatedVersion[], atMs: number): PricedVersion | null {
  const inForce = versions.findLast(({ effectiveFrom }) => effectiveFrom <= atMs);
  if (inForce === undefined || inForce.figures === null) return null;
  return { version: inForce.version, figures: inForce.figures };
}
