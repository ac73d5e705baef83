import {
  type RequestedExtras,
  UNIT_USES_MAX,
  UNPRICED_NAMES_MAX,
  UNPRICED_NAME_LENGTH_MAX,
} from '@gateway/contracts/messages';
import { type PriceClass, type PriceExtras, STANDARD, type Served, classPrices, unitPrice } from '@gateway/metering';
import type { PricedReading, PricingRules } from './requested-extras.js';
import type { ReportedExtras, ReportedUses } from './reported-extras.js';

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
 * Computes the billed class and units (docs/behaviour.md#classes-and-units). Class: the reported,
 * else the requested one; standard if it has no price. Units: the reported uses, and one use of
 * each requested tool that no response counts; without a price they cost nothing. A source that
 * accepts everything: standard, no units. For `unpriced` see {@link BilledExtras}.
 */
export function computeBilledExtras(
  rules: PricingRules | undefined,
  { asked, once, unbilled, models }: SentCall,
  reported: ReportedExtras | null,
  extras: PriceExtras | null,
): BilledExtras {
  const isPlain = asked.class === 'standard' && once.length === 0 && reported === null;
  if (rules === undefined || (isPlain && !unbilled?.length)) return PLAIN;
  const unpriced = new Set([...(reported?.unpriced ?? []), ...(unbilled ?? [])]);
  const name = findServedClass(rules, asked, reported, unpriced);
  const isSold = name === 'standard' || (unbilled === undefined && classPrices(name, extras) !== undefined);
  if (!isSold) unpriced.add(name);
  const used = countUsedUnits(rules, asked, reported, extras);
  for (const unit of once) addUses(used, unit, 1);
  const units: Record<string, number> = {};
  for (const [unit, uses] of used) {
    if (unbilled !== undefined || unitPrice(unit, extras) === null || uses > UNIT_USES_MAX) unpriced.add(unit);
    if (unbilled === undefined) units[unit] = Math.min(uses, UNIT_USES_MAX);
  }
  const model = reported?.model ?? null;
  if (model !== null && !models.some((each) => isSameModel(each, model))) {
    unpriced.add(`model:${model}`);
  }
  const names = Array.from(unpriced, (each) => each.slice(0, UNPRICED_NAME_LENGTH_MAX)).slice(0, UNPRICED_NAMES_MAX);
  if ((name === 'standard' || !isSold) && Object.keys(units).length === 0) return { served: STANDARD, unpriced: names };
  return { served: { class: isSold ? name : 'standard', units }, unpriced: names };
}

/**
 * Counts the uses of each unit. Uses at one path count for the most expensive requested unit of its
 * rules, else (not if `isUnnamed`) for the most expensive unit of the first rule.
 */
function countUsedUnits(
  { tools }: PricingRules,
  asked: RequestedExtras,
  reported: ReportedExtras | null,
  extras: PriceExtras | null,
): Map<string, number> {
  const units = new Map<string, number>();
  for (const [path, uses] of reported?.uses ?? []) {
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
  reported: ReportedExtras | null,
  unpriced: Set<string>,
): PriceClass {
  let served: PriceClass = 'standard';
  for (const [index, { field, answers }] of classes.entries()) {
    const value = reported?.classes.get(index);
    const unsaid = field === asked.field ? asked.class : 'standard';
    const known = value !== undefined && Object.hasOwn(answers, value) ? answers[value] : undefined;
    const name = value === undefined ? unsaid : known;
    if (name === undefined) unpriced.add(value === '' || value === undefined ? field : value);
    else if (name !== 'standard') served = name;
  }
  return served;
}

/** Date or number of a snapshot after a model's name. */
const SNAPSHOT = /[-@_](?:\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|\d{3})(?=$|[-@_:])/g;
/** Words that do not distinguish models. */
const SAME_MODEL: ReadonlySet<string> = new Set(['latest', 'preview', 'exp', 'experimental', 'maas', 'default']);
/** Version suffix of a name on Bedrock. */
const BEDROCK_VERSION = /-v\d+(?::\d+)?$/;

/**
 * Returns whether two names refer to the same model. Names may differ in a snapshot date, an alias,
 * the order of words, a publisher or a region. An alias that follows the newest model (`…-latest`)
 * matches any model.
 * @param asked the name that was sent
 */
export function isSameModel(asked: string, answered: string): boolean {
  if (asked === answered) return true;
  if (/(?:^|-)latest$/.test(asked) && !/\d/.test(asked)) return true;
  return toWords(asked) === toWords(answered);
}

const known = new Map<string, string>();
/** Maximum number of cached names. Providers may send any number of different names. */
const KNOWN_NAMES_MAX = 10_000;

function toWords(name: string): string {
  let words = known.get(name);
  if (words === undefined) {
    if (known.size >= KNOWN_NAMES_MAX) known.clear();
    known.set(name, (words = readWords(name)));
  }
  return words;
}

/** Numbers are versions or sizes. Their order distinguishes models (gpt-4.5, gpt-5.4). */
const isNumber = (word: string): boolean => /^\d/.test(word);

/**
 * Normalizes a name to its words in alphabetical order. Numbers come last, in their original order.
 */
function readWords(name: string): string {
  const own = name.slice(name.lastIndexOf('/') + 1).toLowerCase();
  // A region and a publisher, as in `us.anthropic.claude-…`: words without digits before a dot.
  const model = own.replace(/^(?:[a-z]+(?:-[a-z]+)*\.)+(?=[a-z])/, '').replace(BEDROCK_VERSION, '');
  // An option of the provider after a colon: `:free`, `:nitro`.
  const [plain = ''] = model.split(':');
  return plain
    .replace(SNAPSHOT, '')
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '' && !SAME_MODEL.has(word))
    .sort((one, other) =>
      isNumber(one) || isNumber(other) ? Number(isNumber(one)) - Number(isNumber(other)) : one < other ? -1 : 1,
    )
    .join(' ');
}
