import {
  REQUESTED_EXTRAS_MAX,
  UNIT_USES_MAX,
  type RequestedExtras,
  type CatalogSource,
} from '@gateway/contracts/messages';
import type { ToolType } from '@gateway/contracts/operator';
import { isPriced, unitPrice, unpricedName, type PriceClass, type PriceExtras } from '@gateway/metering';
import { foldCase } from '../parse/fields.js';
import type { RequestedMember, RequestedTools, PricedParts } from './price-facts.js';

/** Absent: the source accepts all requests at the standard price. */
export type PricingRules = NonNullable<CatalogSource['pricing']>;
type ToolRule = PricingRules['tools'][number];

/** A request that a source can price. */
export interface PricedReading {
  readonly kind: 'priced';
  readonly asked: RequestedExtras;
  /** The same with units of other sizes, if the request does not show which size it uses. */
  readonly otherSizes: readonly RequestedExtras[];
  /** Units of requested tools that no response counts. */
  readonly once: readonly string[];
  /**
   * Names of requested features that no rule can price, at a source that accepts everything at the
   * standard price. Absent if the source bills the reported class and units.
   */
  readonly unbilled?: readonly string[];
}

/** The settings of a source that decide how it reads a request. */
export type SourceRules = Pick<CatalogSource, 'pricing' | 'unpriced'>;

/** The part of a request that has no price. */
export interface UnpricedPart {
  /** The member of the request. */
  readonly field: string;
  /** The class, unit, type of tool or value; the field if it has no name. */
  readonly name: string;
}

/** A request as read by a source's rules. */
export type PriceReading = PricedReading | ({ readonly kind: 'unpriced' } & UnpricedPart);

const NOTHING_ASKED: RequestedExtras = { class: 'standard', units: {}, field: '' };
const PLAIN: PricedReading = { kind: 'priced', asked: NOTHING_ASKED, otherSizes: [], once: [] };

/**
 * Reads the requested class and units by a source's rules (docs/behaviour.md#classes-and-units).
 */
export function readPricing(facts: PricedParts, rules: PricingRules | undefined): PriceReading {
  if (rules === undefined || !hasPricedParts(facts, rules)) return PLAIN;
  const unpriced = findUnpricedPart(facts, rules);
  if (unpriced !== null) return { kind: 'unpriced', ...unpriced };
  const asked = readRequestedClass(facts, rules);
  if (asked.unpriced !== null) return { kind: 'unpriced', ...asked.unpriced };
  const tools = readRequestedUnits(facts, rules);
  if (asked.class === 'standard' && tools.field === null) return PLAIN;
  const field = asked.field ?? tools.field ?? '';
  const [units = {}, ...otherSizes] = tools.units.map((each) => ({ class: asked.class, units: each, field }));
  return { kind: 'priced', asked: units as RequestedExtras, otherSizes, once: tools.once };
}

/** Reads a request for a source, which may accept parts without a price. */
export function readPricingForSource({ pricing, unpriced }: SourceRules, facts: PricedParts): PriceReading {
  const reading = readPricing(facts, pricing);
  if (unpriced !== 'forward') return reading;
  if (reading.kind === 'unpriced') return { ...PLAIN, unbilled: [reading.name] };
  return { ...reading, otherSizes: [], unbilled: [] };
}

/**
 * Applies a price to a reading. Returns the first part without a price, if there is one. Of several
 * sizes, uses the most expensive one that has a price.
 */
export function applyPrice(reading: PricedReading, extras: PriceExtras | null): PricedReading | UnpricedPart {
  const { asked, otherSizes } = reading;
  if (reading.unbilled !== undefined) return reading;
  const sold = [asked, ...otherSizes].filter((each) => isPriced(each, extras));
  const [first, ...others] = sold;
  if (first === undefined) return { field: asked.field, name: unpricedName(asked, extras) ?? asked.field };
  const most = others.reduce((a, b) => (computeUnitCost(b, extras) > computeUnitCost(a, extras) ? b : a), first);
  return most === asked ? reading : { ...reading, asked: most };
}

function computeUnitCost({ units }: RequestedExtras, extras: PriceExtras | null): bigint {
  return Object.entries(units).reduce((sum, [unit, uses]) => sum + BigInt(uses) * (unitPrice(unit, extras) ?? 0n), 0n);
}

/** The readings of a request by its model's sources, for admission. */
export type AdmissionPricing = {
  readonly requestedExtras?: RequestedExtras[];
  readonly unpricedField?: string;
  readonly unpricedName?: string;
};

const NOTHING: AdmissionPricing = {};

/** Collects the different readings of a request by its sources. */
export function collectReadings(facts: PricedParts, sources: readonly SourceRules[]): AdmissionPricing {
  const distinct = new Map<string, RequestedExtras>();
  let unpriced: UnpricedPart | null = null;
  for (const source of sources) {
    const reading = readPricingForSource(source, facts);
    if (reading.kind === 'unpriced') unpriced ??= reading;
    else {
      const billed = reading.unbilled === undefined ? [reading.asked, ...reading.otherSizes] : [NOTHING_ASKED];
      for (const asked of billed) {
        if (distinct.size < REQUESTED_EXTRAS_MAX) distinct.set(JSON.stringify(asked), asked);
      }
    }
  }
  const all = [...distinct.values()];
  if (all.length === 0) {
    return unpriced === null ? NOTHING : { unpricedField: unpriced.field, unpricedName: unpriced.name };
  }
  return all.every((asked) => asked === NOTHING_ASKED) ? NOTHING : { requestedExtras: all };
}

const namedBy = new WeakMap<PricingRules, ReadonlySet<string>>();

/**
 * Returns whether the request has tools, or a member that the rules name. Most requests have
 * neither.
 */
function hasPricedParts({ members, tools, hasOddTools }: PricedParts, rules: PricingRules): boolean {
  if (tools.length > 0 || hasOddTools) return true;
  let names = namedBy.get(rules);
  if (names === undefined) {
    const { classes, tools, unpricedFields } = rules;
    const bounds = tools.flatMap(({ boundedBy }) => boundedBy ?? []);
    const fields = [...classes.map(({ field }) => field), ...tools.flatMap((rule) => rule.fields), ...bounds];
    names = new Set([...fields, ...Object.keys(unpricedFields), 'tools'].map(foldCase));
    namedBy.set(rules, names);
  }
  for (const { folded } of members) if (names.has(folded)) return true;
  return false;
}

/** Returns the first part of a request that changes its price and has no price itself. */
function findUnpricedPart(facts: PricedParts, rules: PricingRules): UnpricedPart | null {
  const { classes, tools, freeTools, unpricedFields } = rules;
  for (const [field, values] of Object.entries(unpricedFields)) {
    const found = findMembers(facts, field);
    if (isAmbiguous(found, field)) return { field, name: field };
    const [member] = found;
    if (member?.isSet !== true) continue;
    const value = member.value === null ? null : foldCase(member.value);
    if (values.length === 0 || values.some((each) => foldCase(each) === value)) return { field, name: field };
  }
  const bounds = tools.flatMap(({ boundedBy }) => (boundedBy === null ? [] : [boundedBy]));
  const read = [...classes.map(({ field }) => field), ...tools.flatMap(({ fields }) => fields), ...bounds];
  const ambiguous = read.find((field) => isAmbiguous(findMembers(facts, field), field));
  if (ambiguous !== undefined) return { field: ambiguous, name: ambiguous };
  const isKnown = (tool: RequestedTools): boolean =>
    tool.type === 'function' || isOneOf(tool, freeTools) || tools.some(({ types }) => isOneOf(tool, types));
  const unknown = facts.tools.find((tool) => !isKnown(tool));
  if (unknown !== undefined) return { field: 'tools', name: shortenName(unknown.type) };
  const isOdd = facts.hasOddTools || isAmbiguous(findMembers(facts, 'tools'), 'tools');
  return isOdd ? { field: 'tools', name: 'tools' } : null;
}

/** Maximum length of a name from a client in an error message. Longer names are cut. */
const ASKED_NAME_CHARS_MAX = 64;

function shortenName(name: string): string {
  return name.slice(0, ASKED_NAME_CHARS_MAX);
}

interface RequestedClass {
  readonly class: PriceClass;
  readonly field: string | null;
  readonly unpriced: UnpricedPart | null;
}

/**
 * Reads the requested class. Two fields that request different classes, neither of them standard,
 * have no price together.
 */
function readRequestedClass(facts: PricedParts, { classes }: PricingRules): RequestedClass {
  let asked: RequestedClass = { class: 'standard', field: null, unpriced: null };
  for (const { field, asks } of classes) {
    const [member] = findMembers(facts, field);
    if (member?.isSet !== true) continue;
    const name = member.value !== null && Object.hasOwn(asks, member.value) ? asks[member.value] : undefined;
    const unpriced = { field, name: shortenName(member.value ?? field) };
    if (name === undefined) return { ...asked, unpriced };
    if (name === 'standard' || name === asked.class) continue;
    if (asked.class !== 'standard') return { ...asked, unpriced };
    asked = { class: name, field, unpriced: null };
  }
  return asked;
}

interface RequestedUnits {
  /** The maximum uses of each unit. There are several entries if a tool has several sizes. */
  readonly units: readonly Readonly<Record<string, number>>[];
  readonly field: string | null;
  readonly once: readonly string[];
}

function readRequestedUnits(facts: PricedParts, { tools }: PricingRules): RequestedUnits {
  let units: Record<string, number>[] = [{}];
  const once: string[] = [];
  let field: string | null = null;
  for (const rule of tools) {
    const asking = facts.tools.filter((tool) => isOneOf(tool, rule.types));
    const byField = rule.fields.find((name) => findMembers(facts, name)[0]?.isSet === true);
    if (asking.length === 0 && byField === undefined) continue;
    field ??= asking.length > 0 ? 'tools' : (byField ?? null);
    const uses = computeMaxUses(facts, rule, asking);
    units = [rule.unit, ...(rule.otherSizes ?? [])].flatMap((unit) =>
      units.map((each) => ({ ...each, [unit]: Math.min((each[unit] ?? 0) + uses, UNIT_USES_MAX) })),
    );
    if (rule.reportedAt === null) once.push(rule.unit);
  }
  return { units, field, once };
}

/**
 * Returns the maximum uses of a unit: the profile's bound, or the request's if it is lower; 1 if no
 * response counts the uses.
 */
function computeMaxUses(
  facts: PricedParts,
  { usesMax: most, boundedBy, reportedAt }: ToolRule,
  asking: readonly RequestedTools[],
): number {
  if (reportedAt === null) return 1;
  if (boundedBy === null) return most;
  const [ofRequest] = findMembers(facts, boundedBy);
  const bounds = [most];
  if (ofRequest?.value != null && /^\d{1,9}$/.test(ofRequest.value)) bounds.push(Number(ofRequest.value));
  const ofTools = asking.map(({ count, bounds: known }) => {
    const bound = known.get(boundedBy);
    return bound?.count === count ? bound.sum : Infinity;
  });
  if (ofTools.length > 0) bounds.push(ofTools.reduce((sum, uses) => sum + uses, 0));
  return Math.min(...bounds);
}

const NO_MEMBERS: readonly RequestedMember[] = [];
/** Most fields of rules are in lower case already. */
const FOLDED = /^[a-z0-9_.-]*$/;

/** Finds the members with this name, ignoring case. */
function findMembers({ members }: PricedParts, field: string): readonly RequestedMember[] {
  const name = FOLDED.test(field) ? field : foldCase(field);
  return members.some(({ folded }) => folded === name) ? members.filter(({ folded }) => folded === name) : NO_MEMBERS;
}

/**
 * Returns whether a member occurs twice or in other letter case: the provider might read another
 * value than the gateway, so the request cannot be priced.
 */
function isAmbiguous(members: readonly RequestedMember[], field: string): boolean {
  return members.length > 1 || members.some(({ name }) => name !== field);
}

function isOneOf(tool: RequestedTools, types: readonly ToolType[]): boolean {
  return types.some((each) =>
    typeof each === 'string'
      ? fitsPattern(tool.type, each)
      : fitsPattern(tool.type, each.type) && hasOptions(tool, each.where),
  );
}

/** A pattern that ends with `*` matches all texts with that beginning. */
function fitsPattern(text: string, pattern: string): boolean {
  return pattern.endsWith('*') ? text.startsWith(pattern.slice(0, -1)) : text === pattern;
}

/**
 * Returns whether a tool has the options of a rule, and no other options below the same members.
 */
function hasOptions({ options }: RequestedTools, where: Readonly<Record<string, readonly (string | null)[]>>): boolean {
  const named = Object.entries(where);
  const holds = named.every(([path, values]) => {
    const value = options.get(path);
    if (values.length === 0) return true;
    if (!options.has(path)) return values.includes(null);
    return value != null && values.some((each) => each !== null && fitsPattern(value, each));
  });
  if (!holds) return false;
  const folded = new Set(named.map(([path]) => foldCase(path.split('.', 1)[0] ?? '')));
  for (const [path, value] of options) {
    const [root = ''] = path.split('.', 1);
    if (!folded.has(foldCase(root)) || Object.hasOwn(where, path)) continue;
    // The object that holds named members is not itself an option.
    if (value !== null || !named.some(([known]) => known.startsWith(`${path}.`))) return false;
  }
  return true;
}
