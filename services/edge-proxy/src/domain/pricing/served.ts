import { UNIT_USES_MAX, type AskedExtras } from '@gateway/contracts/messages';
import { classPrices, STANDARD, unitPrice, type PriceClass, type PriceExtras, type Served } from '@gateway/metering';
import type { PricingRules } from './asks.js';
import type { SaidExtras } from './said-extras.js';

/** What is billed, and what of it has no price: for the operator. */
export interface ServedFinding {
  readonly served: Served;
  /** Class or unit that was reported and has no price; empty: there is none. */
  readonly unpriced: readonly string[];
}

const PLAIN: ServedFinding = { served: STANDARD, unpriced: [] };

/**
 * What a call is billed as (docs/behaviour.md#classes-and-units): what the answer says, else what
 * was asked for. A class without a price is billed as standard; a unit without one stays in the
 * record and costs nothing.
 * @param once units of tools that were asked for and that no answer counts
 */
export function servedOf(
  rules: PricingRules | undefined,
  { asked, once }: { readonly asked: AskedExtras; readonly once: readonly string[] },
  said: SaidExtras | null,
  extras: PriceExtras | null,
): ServedFinding {
  if (rules === undefined || (asked.class === 'standard' && once.length === 0 && said === null)) return PLAIN;
  const unpriced: string[] = [];
  const name = servedClass(rules, asked, said, unpriced);
  const isSold = classPrices(name, extras) !== undefined;
  if (!isSold) unpriced.push(name);
  const units = usedUnits(rules, asked, said);
  for (const unit of once) addUses(units, unit, 1);
  for (const unit of units.keys()) if (unitPrice(unit, extras) === null) unpriced.push(unit);
  if ((name === 'standard' || !isSold) && units.size === 0) return { served: STANDARD, unpriced };
  return { served: { class: isSold ? name : 'standard', units: Object.fromEntries(units) }, unpriced };
}

/**
 * Tools of several units may be counted at one place: the uses are of the first unit that was asked
 * for, else of the first one.
 */
function usedUnits({ tools }: PricingRules, asked: AskedExtras, said: SaidExtras | null): Map<string, number> {
  const units = new Map<string, number>();
  for (const [path, uses] of said?.uses ?? []) {
    const counted = tools.filter(({ reportedAt }) => reportedAt === path);
    const { unit } = counted.find((rule) => Object.hasOwn(asked.units, rule.unit)) ?? counted[0] ?? {};
    if (unit === undefined || uses === 0) continue;
    addUses(units, unit, uses);
  }
  return units;
}

/** Up to {@link UNIT_USES_MAX}: a record with more cannot be read. */
function addUses(units: Map<string, number>, unit: string, uses: number): void {
  units.set(unit, Math.min((units.get(unit) ?? 0) + uses, UNIT_USES_MAX));
}

/** By each rule what the answer says, else what was asked for; one that is not standard counts. */
function servedClass(
  { classes }: PricingRules,
  asked: AskedExtras,
  said: SaidExtras | null,
  unpriced: string[],
): PriceClass {
  let served: PriceClass = 'standard';
  for (const [index, { field, answers }] of classes.entries()) {
    const value = said?.classes.get(index);
    const unsaid = field === asked.field ? asked.class : 'standard';
    const known = value !== undefined && Object.hasOwn(answers, value) ? answers[value] : undefined;
    const name = value === undefined ? unsaid : known;
    if (name === undefined) unpriced.push(value ?? '');
    else if (name !== 'standard') served = name;
  }
  return served;
}
