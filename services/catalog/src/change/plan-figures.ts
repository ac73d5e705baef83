import { isRefusal, type ManagementRefusal, type PricesSpec } from '@gateway/contracts/operator';
import { planVersion, type NewFigures } from '../domain/dated-versions.js';
import { figuresOf } from '../domain/figures.js';
import type { DatedFigures } from '../domain/objects.js';

/** The version that a PUT's `prices` or `costs` make: null for none (absent, or as it is already). */
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
