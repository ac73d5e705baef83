import type { PricingRules } from './asks.js';
import { isRecord, isSet, type JsonRecord } from '../formats/answer-json.js';

/** What an answer said of what its price depends on. */
export interface SaidExtras {
  /** What it says of its class, by the place of the rule. */
  readonly classes: ReadonlyMap<number, string>;
  /** Uses by the path of the rules that they are counted at. */
  readonly uses: ReadonlyMap<string, number>;
}

/** Collects what an answer says, from the whole of it or from the events of a stream. */
export class SaidReader {
  readonly #places: Places;
  readonly #classes = new Map<number, string>();
  readonly #uses = new Map<string, number>();

  constructor(rules: PricingRules) {
    this.#places = placesOf(rules);
  }

  /** The answer, or an event's part that has its members. Later ones count. */
  see(answer: JsonRecord): void {
    for (const { index, steps } of this.#places.classes) {
      const [value] = valuesAt(answer, steps);
      if (typeof value === 'string' && value.length <= CLASS_CHARS_MAX) this.#classes.set(index, value);
    }
    for (const { path, steps } of this.#places.uses) {
      const uses = usesOf(valuesAt(answer, steps));
      if (uses !== null) this.#uses.set(path, Math.max(uses, this.#uses.get(path) ?? 0));
    }
  }

  said(): SaidExtras | null {
    if (this.#classes.size === 0 && this.#uses.size === 0) return null;
    return { classes: this.#classes, uses: this.#uses };
  }
}

/** Where the answers of a source say something: the paths of its rules, taken apart. */
interface Places {
  readonly classes: readonly { readonly index: number; readonly steps: readonly Step[] }[];
  readonly uses: readonly { readonly path: string; readonly steps: readonly Step[] }[];
}

interface Step {
  readonly name: string;
  readonly isList: boolean;
  /** Of a list's items. */
  readonly type: string | undefined;
}

const knownPlaces = new WeakMap<PricingRules, Places>();

/** Rules are asked for with every event of every stream, and taken apart once. */
function placesOf(rules: PricingRules): Places {
  const known = knownPlaces.get(rules);
  if (known !== undefined) return known;
  const classes = rules.classes.flatMap(({ answersAt }, index) =>
    answersAt === null ? [] : [{ index, steps: stepsOf(answersAt) }],
  );
  const paths = new Set(rules.tools.flatMap(({ reportedAt }) => reportedAt ?? []));
  const places = { classes, uses: Array.from(paths, (path) => ({ path, steps: stepsOf(path) })) };
  knownPlaces.set(rules, places);
  return places;
}

const STEP = /^([a-z0-9_]+)(\[(?:type=([a-z0-9_]+))?\])?$/;

/** The form of a path is that of the contract (`answerPath`). */
function stepsOf(path: string): Step[] {
  return path.split('.').map((step) => {
    const [, name = '', list, type] = STEP.exec(step) ?? [];
    return { name, isList: list !== undefined, type };
  });
}

/** Of a complete answer. */
export function saidIn(answer: JsonRecord, rules: PricingRules | undefined): SaidReader | null {
  if (rules === undefined) return null;
  const reader = new SaidReader(rules);
  reader.see(answer);
  return reader;
}

/** Longer ones are in no rule. */
const CLASS_CHARS_MAX = 128;

/** Numbers are added, other items are counted; null: nothing is said. */
function usesOf(values: readonly unknown[]): number | null {
  if (values.length === 0) return null;
  let uses = 0;
  for (const value of values) {
    if (Array.isArray(value)) uses += value.length;
    else if (isRecord(value)) uses += 1;
    else if (Number.isSafeInteger(value)) uses += Math.max(0, value as number);
  }
  return uses;
}

const NOWHERE: readonly unknown[] = [];

/** The values at a path, those that are set. Most events have nothing of its first name. */
function valuesAt(answer: JsonRecord, steps: readonly Step[]): readonly unknown[] {
  const [first] = steps;
  if (first === undefined || !isSet(answer[first.name])) return NOWHERE;
  let found: readonly unknown[] = [answer];
  for (const { name, isList, type } of steps) {
    const values = found.flatMap((each) => (isRecord(each) && Object.hasOwn(each, name) ? [each[name]] : []));
    if (!isList) found = values.filter(isSet);
    else {
      const items = values.flatMap((each) => (Array.isArray(each) ? (each as unknown[]) : []));
      found = items.filter((item) => type === undefined || (isRecord(item) && item['type'] === type));
    }
  }
  return found;
}
