import { ASKS_MAX, UNIT_USES_MAX, type AskedExtras, type CatalogSource } from '@gateway/contracts/messages';
import type { PriceClass } from '@gateway/metering';
import { foldCase } from '../request/case-twin.js';
import type { AskedMember, AskedTools, PriceFacts } from './price-facts.js';

/** Absent: everything is taken, at the standard price. */
export type PricingRules = NonNullable<CatalogSource['pricing']>;
type ToolRule = PricingRules['tools'][number];

/** What a source with these rules makes of a request. */
export type Reading =
  /** `once`: units of tools that are asked for and that no answer counts. */
  | { readonly kind: 'priced'; readonly asked: AskedExtras; readonly once: readonly string[] }
  /** There is no price for what the request asks for with this field. */
  | { readonly kind: 'unpriced'; readonly field: string };

const NOTHING_ASKED: AskedExtras = { class: 'standard', units: {}, field: '' };
const PLAIN: Reading = { kind: 'priced', asked: NOTHING_ASKED, once: [] };

/** Reads what a request asks for by the rules of a source (docs/behaviour.md#classes-and-units). */
export function readAsks(facts: PriceFacts, rules: PricingRules | undefined): Reading {
  if (rules === undefined || !touches(facts, rules)) return PLAIN;
  const unpriced = unpricedField(facts, rules);
  if (unpriced !== null) return { kind: 'unpriced', field: unpriced };
  const asked = askedClass(facts, rules);
  if (asked.unpriced !== null) return { kind: 'unpriced', field: asked.unpriced };
  const tools = askedTools(facts, rules);
  if (asked.class === 'standard' && tools.field === null) return PLAIN;
  return {
    kind: 'priced',
    asked: { class: asked.class, units: tools.units, field: asked.field ?? tools.field ?? '' },
    once: tools.once,
  };
}

/** What the sources of a model make of a request, for admission. */
export type SourcesAsk = { readonly asks?: AskedExtras[]; readonly unpricedField?: string };

const NOTHING: SourcesAsk = {};

/** The different readings of a request's sources, by their rules. */
export function asksOfSources(facts: PriceFacts, rules: readonly (PricingRules | undefined)[]): SourcesAsk {
  const asks = new Map<string, AskedExtras>();
  let unpriced: string | null = null;
  for (const each of rules) {
    const reading = readAsks(facts, each);
    if (reading.kind === 'unpriced') unpriced ??= reading.field;
    else if (asks.size < ASKS_MAX) asks.set(JSON.stringify(reading.asked), reading.asked);
  }
  const all = [...asks.values()];
  if (all.length === 0) return unpriced === null ? NOTHING : { unpricedField: unpriced };
  return all.every((asked) => asked === NOTHING_ASKED) ? NOTHING : { asks: all };
}

const namedBy = new WeakMap<PricingRules, ReadonlySet<string>>();

/** Whether the request has a member that the rules name: most have none. */
function touches({ members }: PriceFacts, rules: PricingRules): boolean {
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

/** The first field that changes the price in a way that no price has. */
function unpricedField(facts: PriceFacts, rules: PricingRules): string | null {
  const { classes, tools, freeTools, unpricedFields } = rules;
  for (const [field, values] of Object.entries(unpricedFields)) {
    const found = membersOf(facts, field);
    if (isAmbiguous(found, field)) return field;
    const [member] = found;
    if (member?.isSet !== true) continue;
    const value = member.value === null ? null : foldCase(member.value);
    if (values.length === 0 || values.some((each) => foldCase(each) === value)) return field;
  }
  const bounds = tools.flatMap(({ boundedBy }) => (boundedBy === null ? [] : [boundedBy]));
  const read = [...classes.map(({ field }) => field), ...tools.flatMap(({ fields }) => fields), ...bounds];
  const ambiguous = read.find((field) => isAmbiguous(membersOf(facts, field), field));
  if (ambiguous !== undefined) return ambiguous;
  const isKnown = ({ type }: AskedTools): boolean =>
    type === 'function' || isOfTypes(type, freeTools) || tools.some(({ types }) => isOfTypes(type, types));
  const isOdd = facts.hasOddTools || isAmbiguous(membersOf(facts, 'tools'), 'tools') || !facts.tools.every(isKnown);
  return isOdd ? 'tools' : null;
}

interface AskedClass {
  readonly class: PriceClass;
  readonly field: string | null;
  readonly unpriced: string | null;
}

/** Two fields that ask for two classes besides the standard one ask for what has no price. */
function askedClass(facts: PriceFacts, { classes }: PricingRules): AskedClass {
  let asked: AskedClass = { class: 'standard', field: null, unpriced: null };
  for (const { field, asks } of classes) {
    const [member] = membersOf(facts, field);
    if (member?.isSet !== true) continue;
    const name = member.value !== null && Object.hasOwn(asks, member.value) ? asks[member.value] : undefined;
    if (name === undefined) return { ...asked, unpriced: field };
    if (name === 'standard' || name === asked.class) continue;
    if (asked.class !== 'standard') return { ...asked, unpriced: field };
    asked = { class: name, field, unpriced: null };
  }
  return asked;
}

function askedTools(
  facts: PriceFacts,
  { tools }: PricingRules,
): { units: Record<string, number>; field: string | null; once: readonly string[] } {
  const units: Record<string, number> = {};
  const once: string[] = [];
  let field: string | null = null;
  for (const rule of tools) {
    const asking = facts.tools.filter(({ type }) => isOfTypes(type, rule.types));
    const byField = rule.fields.find((name) => membersOf(facts, name)[0]?.isSet === true);
    if (asking.length === 0 && byField === undefined) continue;
    field ??= asking.length > 0 ? 'tools' : (byField ?? null);
    units[rule.unit] = Math.min((units[rule.unit] ?? 0) + usesMax(facts, rule, asking), UNIT_USES_MAX);
    if (rule.reportedAt === null) once.push(rule.unit);
  }
  return { units, field, once };
}

/** The bound of the profile, or the request's where that is lower; 1, where no answer counts. */
function usesMax(
  facts: PriceFacts,
  { usesMax: most, boundedBy, reportedAt }: ToolRule,
  asking: readonly AskedTools[],
): number {
  if (reportedAt === null) return 1;
  if (boundedBy === null) return most;
  const [ofRequest] = membersOf(facts, boundedBy);
  const bounds = [most];
  if (ofRequest?.value != null && /^\d{1,9}$/.test(ofRequest.value)) bounds.push(Number(ofRequest.value));
  const ofTools = asking.map(({ count, bounds: known }) => {
    const bound = known.get(boundedBy);
    return bound?.count === count ? bound.sum : Infinity;
  });
  if (ofTools.length > 0) bounds.push(ofTools.reduce((sum, uses) => sum + uses, 0));
  return Math.min(...bounds);
}

const NO_MEMBERS: readonly AskedMember[] = [];
/** Most fields of rules are as folding would leave them. */
const FOLDED = /^[a-z0-9_.-]*$/;

/** In whatever case. */
function membersOf({ members }: PriceFacts, field: string): readonly AskedMember[] {
  const name = FOLDED.test(field) ? field : foldCase(field);
  return members.some(({ folded }) => folded === name) ? members.filter(({ folded }) => folded === name) : NO_MEMBERS;
}

/** It is there twice, or in another case: a provider might read the other one. */
function isAmbiguous(members: readonly AskedMember[], field: string): boolean {
  return members.length > 1 || members.some(({ name }) => name !== field);
}

/** A type that ends with `*` stands for all that begin so. */
function isOfTypes(type: string, types: readonly string[]): boolean {
  return types.some((each) => (each.endsWith('*') ? type.startsWith(each.slice(0, -1)) : each === type));
}
