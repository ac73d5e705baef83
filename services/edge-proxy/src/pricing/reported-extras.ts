import { UNPRICED_NAME_LENGTH_MAX } from '@gateway/contracts/messages';
import type { ReportedCostAt } from '@gateway/contracts/operator';
import { AMOUNT_NANO_USD_MAX } from '@gateway/metering';
import type { PricingRules } from './requested-extras.js';
import { isRecord, isSet, type JsonRecord } from '../formats/answer-json.js';

/** The reported values that a response's price depends on. */
export interface ReportedExtras {
  /** Reported classes by the index of their rule. */
  readonly classes: ReadonlyMap<number, string>;
  /** Uses by the path of the rules that count them. */
  readonly uses: ReadonlyMap<string, ReportedUses>;
  /** Names of reported values that change the price and have no price. */
  readonly unpriced: readonly string[];
  /** The model that responded; null if the response does not name it. */
  readonly model: string | null;
  /** The provider's own cost in nano-USD; absent if not reported. */
  readonly costNanoUsd?: number;
}

export interface ReportedUses {
  readonly count: number;
  /** No item names the tool that it used. The uses count only if the request asked for the tool. */
  readonly isUnnamed: boolean;
}

/** Maximum length of a value. Rules have no longer ones. */
const VALUE_CHARS_MAX = 128;
/**
 * Maximum number of different `distinct` values of one rule, and of items of one stream, that are
 * kept.
 */
const KEPT_NAMES_MAX = 1_024;

/** Collects the reported values of a whole response, or of the events of a stream. */
export class ReportedExtrasReader {
  readonly #places: ParsedPaths;
  readonly #classes = new Map<number, string>();
  readonly #counters = new Map<UsesPath, Counter>();
  readonly #unpriced = new Set<string>();
  readonly #items = new Set<string>();
  #model: string | null = null;
  readonly #costAt: PricingRules['reportedCostAt'];
  #costNanoUsd: number | null = null;

  constructor(rules: PricingRules) {
    this.#places = parsePaths(rules);
    this.#costAt = rules.reportedCostAt;
  }

  /** Reads a response, or the members of an event. Later values replace earlier ones. */
  read(answer: JsonRecord): void {
    if (this.#costAt !== undefined) this.#costNanoUsd = readReportedCost(answer, this.#costAt) ?? this.#costNanoUsd;
    const { classes, uses, unpriced, model } = this.#places;
    for (const { index, steps } of classes) {
      const [value] = findValues(answer, steps);
      if (typeof value === 'string' && value.length <= VALUE_CHARS_MAX) this.#classes.set(index, value);
    }
    for (const place of uses) this.#count(place, answer, false);
    for (const { name, steps, values } of unpriced) {
      for (const value of findValues(answer, steps)) {
        if (changesPrice(value, values)) this.#unpriced.add(formatUnpricedName(name, value));
      }
    }
    if (model !== null) {
      const [value] = findValues(answer, model);
      if (typeof value === 'string' && value !== '') this.#model = value.slice(0, VALUE_CHARS_MAX);
    }
  }

  /**
   * Reads an output item that a stream has completed. The response at the end of the stream may or
   * may not repeat the item; it is counted once.
   */
  readItem(item: unknown): void {
    if (!isRecord(item) || !this.#places.uses.some(({ steps: [first] }) => first?.names.includes('output'))) return;
    const id = item['id'];
    if (typeof id === 'string') {
      if (this.#items.has(id) || this.#items.size >= KEPT_NAMES_MAX) return;
      this.#items.add(id);
    }
    const answer = { output: [item] };
    for (const place of this.#places.uses) {
      if (place.steps[0]?.names.includes('output') === true) this.#count(place, answer, true);
    }
  }

  reported(): ReportedExtras | null {
    const uses = new Map<string, ReportedUses>();
    for (const [{ path, distinct }, counter] of this.#counters) {
      const { total, names, hasUnnamed, most, sum } = counter;
      if (total !== null) uses.set(path, { count: total, isUnnamed: false });
      else if (distinct === null) uses.set(path, { count: Math.max(most, sum), isUnnamed: false });
      else uses.set(path, { count: names.size === 0 && hasUnnamed ? 1 : names.size, isUnnamed: names.size === 0 });
    }
    const cost = this.#costNanoUsd === null ? null : { costNanoUsd: this.#costNanoUsd };
    const isEmpty = this.#classes.size === 0 && uses.size === 0 && this.#unpriced.size === 0;
    if (isEmpty && this.#model === null && cost === null) return null;
    return { classes: this.#classes, uses, unpriced: [...this.#unpriced], model: this.#model, ...cost };
  }

  #count(place: UsesPath, answer: JsonRecord, isPart: boolean): void {
    const [total] = place.total === null ? NOWHERE : findValues(answer, place.total);
    const values = findValues(answer, place.steps);
    const isTotal = Number.isSafeInteger(total) && (total as number) >= 0;
    if (values.length === 0 && !isTotal) return;
    let counter = this.#counters.get(place);
    if (counter === undefined) {
      counter = { total: null, most: 0, sum: 0, names: new Set(), hasUnnamed: false };
      this.#counters.set(place, counter);
    }
    if (isTotal) counter.total = Math.max(total as number, counter.total ?? 0);
    if (place.distinct !== null) addNames(counter, values, place.distinct);
    else if (isPart) counter.sum += countUses(values);
    else counter.most = Math.max(counter.most, countUses(values));
  }
}

interface Counter {
  total: number | null;
  /** Uses in one response, or one event. */
  most: number;
  /** Uses in the items of a stream. */
  sum: number;
  readonly names: Set<string>;
  hasUnnamed: boolean;
}

function addNames(counter: Counter, values: readonly unknown[], distinct: readonly (readonly string[])[]): void {
  for (const value of values) {
    const name = distinct.map((member) => findMember(value, member)).find(isSet);
    if (typeof name !== 'string' && typeof name !== 'number') counter.hasUnnamed = true;
    else if (counter.names.size < KEPT_NAMES_MAX) counter.names.add(String(name).slice(0, VALUE_CHARS_MAX));
  }
}

function changesPrice(value: unknown, values: readonly string[]): boolean {
  if (values.length === 0) return isSet(value) && value !== 0 && value !== false;
  return typeof value === 'string' && values.includes(value.toLowerCase());
}

function formatUnpricedName(name: string, value: unknown): string {
  return (typeof value === 'string' ? `${name}:${value}` : name).slice(0, UNPRICED_NAME_LENGTH_MAX);
}

/** The paths of a source's rules, parsed. */
interface ParsedPaths {
  readonly classes: readonly { readonly index: number; readonly steps: readonly Step[] }[];
  readonly uses: readonly UsesPath[];
  readonly unpriced: readonly {
    readonly name: string;
    readonly steps: readonly Step[];
    readonly values: readonly string[];
  }[];
  readonly model: readonly Step[] | null;
}

interface UsesPath {
  readonly path: string;
  readonly steps: readonly Step[];
  readonly total: readonly Step[] | null;
  /** Members that identify a use: items with equal values count once. */
  readonly distinct: readonly (readonly string[])[] | null;
}

interface Step {
  readonly names: readonly string[];
  readonly isList: boolean;
  /** Conditions on a list's items, all of which must hold. */
  readonly conditions: readonly Condition[];
}

interface Condition {
  readonly member: readonly string[];
  readonly isNegated: boolean;
  /** The empty string matches an absent member. */
  readonly values: ReadonlySet<string>;
}

const knownPlaces = new WeakMap<PricingRules, ParsedPaths>();

/** Parses the paths of rules once, since they are applied to every event of every stream. */
function parsePaths(rules: PricingRules): ParsedPaths {
  const known = knownPlaces.get(rules);
  if (known !== undefined) return known;
  const uses = new Map<string, UsesPath>();
  for (const { reportedAt: path, totalAt, distinct } of rules.tools) {
    if (path === null || uses.has(path)) continue;
    uses.set(path, {
      path,
      steps: parsePath(path),
      total: totalAt === undefined ? null : parsePath(totalAt),
      distinct: distinct?.map((member) => member.split('.')) ?? null,
    });
  }
  const places: ParsedPaths = {
    classes: rules.classes.flatMap(({ answersAt }, index) =>
      answersAt === null ? [] : [{ index, steps: parsePath(answersAt) }],
    ),
    uses: [...uses.values()],
    unpriced: Object.entries(rules.unpricedAnswers ?? {}).map(([path, values]) => {
      const steps = parsePath(path);
      return { name: steps.at(-1)?.names[0] ?? '', steps, values: values.map((value) => value.toLowerCase()) };
    }),
    model: rules.modelAt === undefined ? null : parsePath(rules.modelAt),
  };
  knownPlaces.set(rules, places);
  return places;
}

const STEP = /(?<![a-z0-9_|])([a-z0-9_|]+)(\[[^\]]*\])?(?:\.|$)/g;

/** Parses a path in the form of the contract (`answerPath`). */
function parsePath(path: string): Step[] {
  return Array.from(path.matchAll(STEP), ([, names = '', list]) => ({
    names: names.split('|'),
    isList: list !== undefined,
    conditions: (list ?? '[]').slice(1, -1).split(',').filter(Boolean).map(parseCondition),
  }));
}

function parseCondition(text: string): Condition {
  const [left = '', values = ''] = text.split('=', 2);
  const isNegated = left.endsWith('!');
  const member = (isNegated ? left.slice(0, -1) : left).split('.');
  return { member, isNegated, values: new Set(values.split('|')) };
}

const NANO_PER_UNIT: Readonly<Record<ReportedCostAt['unit'], number>> = { usd: 1e9, usd_ticks: 0.1 };

/**
 * Reads the cost that a response, or the part of an event with its members, reports.
 * @returns nano-USD, rounded half up; null if there is no valid amount
 */
function readReportedCost(answer: JsonRecord, { path, unit }: ReportedCostAt): number | null {
  let value: unknown = answer;
  for (const name of path.split('.')) value = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  if (typeof value !== 'number' || !(value >= 0)) return null;
  const nanoUsd = Math.round(value * NANO_PER_UNIT[unit]);
  return nanoUsd <= Number(AMOUNT_NANO_USD_MAX) ? nanoUsd : null;
}

/** Reads a complete response. */
export function readReportedExtras(answer: JsonRecord, rules: PricingRules | undefined): ReportedExtrasReader | null {
  if (rules === undefined) return null;
  const reader = new ReportedExtrasReader(rules);
  reader.read(answer);
  return reader;
}

/** Adds numbers, and counts other values. */
function countUses(values: readonly unknown[]): number {
  let uses = 0;
  for (const value of values) {
    if (Array.isArray(value)) uses += value.length;
    else if (isRecord(value)) uses += 1;
    else if (Number.isSafeInteger(value)) uses += Math.max(0, value as number);
  }
  return uses;
}

const NOWHERE: readonly unknown[] = [];

/**
 * Returns the values at a path, without null. Most events do not have the first name of the path.
 */
function findValues(answer: JsonRecord, steps: readonly Step[]): readonly unknown[] {
  const [first] = steps;
  if (first === undefined || !first.names.some((name) => isSet(answer[name]))) return NOWHERE;
  const [name = ''] = first.names;
  if (steps.length === 1 && !first.isList && first.names.length === 1) return [answer[name]];
  let found: readonly unknown[] = [answer];
  for (const { names, isList, conditions } of steps) {
    const values = found.flatMap((each) =>
      isRecord(each) ? names.flatMap((name) => (Object.hasOwn(each, name) ? [each[name]] : [])) : [],
    );
    if (!isList) found = values.filter(isSet);
    else {
      const items = values.flatMap((each) => (Array.isArray(each) ? (each as unknown[]) : []));
      found = items.filter((item) => conditions.every((condition) => matchesCondition(item, condition)));
    }
  }
  return found;
}

function matchesCondition(item: unknown, { member, isNegated, values }: Condition): boolean {
  const value = findMember(item, member);
  const text = typeof value === 'object' ? (value === null ? '' : 'object') : String(value ?? '');
  return values.has(text) !== isNegated;
}

function findMember(item: unknown, member: readonly string[]): unknown {
  let value = item;
  for (const name of member) {
    if (!isRecord(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}
