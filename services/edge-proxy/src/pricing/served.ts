import {
  UNIT_USES_MAX,
  UNPRICED_NAME_LENGTH_MAX,
  UNPRICED_NAMES_MAX,
  type RequestedExtras,
} from '@gateway/contracts/messages';
import { classPrices, STANDARD, unitPrice, type PriceClass, type PriceExtras, type Served } from '@gateway/metering';
import type { PricedReading, PricingRules } from './asks.js';
import { isSameModel } from './model-names.js';
import type { ReportedUses, ReportedExtras } from './said-extras.js';

/** The billed class and units, and the names without a price, for the operator. */
export interface BilledExtras {
  readonly served: Served;
  /**
   * Names of served features without a price, in the form of a usage event: a class, a unit, a unit
   * with more uses than a record can hold, a value that changes the price, or `model:<name>` if
   * another model than the requested one responded.
   */
  readonly unpriced: readonly string[];
}

/** The request as it was sent to a source. */
export interface SentCall {
  readonly asked: RequestedExtras;
  /** Units of requested tools that no response counts. */
  readonly once: readonly string[];
  /** See {@link PricedReading.unbilled}. */
  readonly unbilled?: PricedReading['unbilled'];
  /** The model's names at the source and in the catalog. */
  readonly models: readonly string[];
}

const PLAIN: BilledExtras = { served: STANDARD, unpriced: [] };

/**
 * Computes the billed class and units (docs/behaviour.md#classes-and-units): the reported ones,
 * else the requested ones. A class without a price is billed as standard. A unit without a price is
 * recorded, but costs nothing. A source that accepts everything is billed as standard, and all
 * other served features are listed in `unpriced`.
 */
export function computeBilledExtras(
  rules: PricingRules | undefined,
  { asked, once, unbilled, models }: SentCall,
  said: ReportedExtras | null,
  extras: PriceExtras | null,
): BilledExtras {
  const isPlain = asked.class === 'standard' && once.length === 0 && said === null;
  if (rules === undefined || (isPlain && !unbilled?.length)) return PLAIN;
  const unpriced = new Set([...(said?.unpriced ?? []), ...(unbilled ?? [])]);
  const name = findServedClass(rules, asked, said, unpriced);
  const isSold = name === 'standard' || (unbilled === undefined && classPrices(name, extras) !== undefined);
  if (!isSold) unpriced.add(name);
  const used = countUsedUnits(rules, asked, said, extras);
  for (const unit of once) addUses(used, unit, 1);
  const units: Record<string, number> = {};
  for (const [unit, uses] of used) {
    if (unbilled !== undefined || unitPrice(unit, extras) === null || uses > UNIT_USES_MAX) unpriced.add(unit);
    if (unbilled === undefined) units[unit] = Math.min(uses, UNIT_USES_MAX);
  }
  const model = said?.model ?? null;
  if (model !== null && !models.some((each) => isSameModel(each, model))) {
    unpriced.add(`model:${model}`);
  }
  const names = Array.from(unpriced, (each) => each.slice(0, UNPRICED_NAME_LENGTH_MAX)).slice(0, UNPRICED_NAMES_MAX);
  if ((name === 'standard' || !isSold) && Object.keys(units).length === 0) return { served: STANDARD, unpriced: names };
  return { served: { class: isSold ? name : 'standard', units }, unpriced: names };
}

/**
 * Counts the uses of each unit. Tools of several units may be counted at one path. Their uses count
 * for the most expensive requested unit, else for the unit of the first rule.
 */
function countUsedUnits(
  { tools }: PricingRules,
  asked: RequestedExtras,
  said: ReportedExtras | null,
  extras: PriceExtras | null,
): Map<string, number> {
  const units = new Map<string, number>();
  for (const [path, uses] of said?.uses ?? []) {
    const counted = tools.filter(({ reportedAt }) => reportedAt === path);
    const unit = findUsedUnit(counted, asked, uses, extras);
    if (unit !== undefined && uses.count > 0) addUses(units, unit, uses.count);
  }
  return units;
}

function findUsedUnit(
  counted: PricingRules['tools'],
  asked: RequestedExtras,
  { isUnnamed }: ReportedUses,
  extras: PriceExtras | null,
): string | undefined {
  const sizes = counted.flatMap(({ unit, otherSizes = [] }) => [unit, ...otherSizes]);
  const known = sizes.filter((unit) => Object.hasOwn(asked.units, unit));
  if (known.length > 0) return findMostExpensive(known, extras);
  const [first] = counted;
  return isUnnamed || first === undefined
    ? undefined
    : findMostExpensive([first.unit, ...(first.otherSizes ?? [])], extras);
}

/** Returns the most expensive unit that has a price; the first unit if none has one. */
function findMostExpensive(units: readonly string[], extras: PriceExtras | null): string | undefined {
  const price = (unit: string): bigint => unitPrice(unit, extras) ?? -1n;
  return units.reduce<string | undefined>(
    (most, unit) => (most === undefined || price(unit) > price(most) ? unit : most),
    undefined,
  );
}

function addUses(units: Map<string, number>, unit: string, uses: number): void {
  units.set(unit, (units.get(unit) ?? 0) + uses);
}

function findServedClass(
  { classes }: PricingRules,
  asked: RequestedExtras,
  said: ReportedExtras | null,
  unpriced: Set<string>,
): PriceClass {
  let served: PriceClass = 'standard';
  for (const [index, { field, answers }] of classes.entries()) {
    const value = said?.classes.get(index);
    const unsaid = field === asked.field ? asked.class : 'standard';
    const known = value !== undefined && Object.hasOwn(answers, value) ? answers[value] : undefined;
    const name = value === undefined ? unsaid : known;
    if (name === undefined) unpriced.add(value === '' || value === undefined ? field : value);
    else if (name !== 'standard') served = name;
  }
  return served;
}
