/**
 * Label values that are not known in advance: the first `max` values are kept, further ones count
 * as `other`. Never use it for values that clients send.
 */
export interface OpenValues {
  readonly max: number;
}
/** A value that the named label determines, so that it adds no series. */
export interface FollowingValue {
  readonly follows: string;
}
/**
 * Label names with all their values, or with the number of values. This bounds the series when the
 * metric is declared.
 */
export type LabelSet = Readonly<Record<string, readonly string[] | OpenValues | FollowingValue>>;
export type LabelsOf<L extends LabelSet> = {
  readonly [K in keyof L]: L[K] extends readonly (infer V)[] ? V : string;
};
export type Labels = Readonly<Record<string, string>>;

/** Replaces undeclared label values, so that they add one series and do not fail. */
const OTHER_VALUE = 'other';

/** A number that only grows. */
export class Counter {
  value = 0;

  add(amount = 1): void {
    this.value += amount;
  }
}

/** Counts of observations per bucket. */
export class Histogram {
  readonly counts: number[];
  count = 0;
  sum = 0;

  /**
   * `bounds` are inclusive upper bounds in ascending order. Values above the last one go into an
   * additional bucket.
   */
  constructor(readonly bounds: readonly number[]) {
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > (this.bounds[bucket] as number)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] as number) + 1;
    this.count += 1;
    this.sum += value;
  }
}

/** A node of the label tree. The cell is stored at the last label. */
interface Branch<C> {
  cell: C | null;
  readonly byValue: Map<string, Branch<C>>;
}

/**
 * Holds one cell per combination of declared label values, created at first use. Keep a frequently
 * used cell in a variable.
 */
export class Family<C, L extends LabelSet> {
  readonly #root: Branch<C> = { cell: null, byValue: new Map() };
  #cells: { readonly labels: Labels; readonly cell: C }[] = [];
  readonly #names: readonly string[];
  /** The values that open labels have had so far. */
  readonly #opened = new Map<string, Set<string>>();

  constructor(
    readonly declared: L,
    private readonly make: () => C,
  ) {
    this.#names = Object.keys(declared);
  }

  /** Searches one label at a time: a combined text key would be garbage of each call. */
  of(labels: LabelsOf<L>): C {
    let branch = this.#root;
    for (const name of this.#names) {
      branch = branch.byValue.get(labels[name] as string) ?? this.#grow(branch, this.#valueOf(name, labels));
    }
    return branch.cell ?? this.#fill(branch, labels);
  }

  /**
   * Removes the series whose first labels have these values. A later use begins at 0. Cells that
   * the caller keeps no longer count.
   */
  drop(...values: readonly string[]): void {
    const [name = ''] = this.#names;
    const [first = ''] = values;
    this.#cells = this.#cells.filter(({ labels }) =>
      values.some((value, at) => labels[this.#names[at] as string] !== value),
    );
    let branch: Branch<C> | undefined = this.#root;
    for (const value of values.slice(0, -1)) branch = branch?.byValue.get(value);
    branch?.byValue.delete(values.at(-1) ?? first);
    if (this.#cells.some(({ labels }) => labels[name] === first)) return;
    this.#root.byValue.delete(first);
    this.#opened.get(name)?.delete(first);
  }

  cells(): Iterable<{ readonly labels: Labels; readonly cell: C }> {
    return this.#cells;
  }

  #grow({ byValue }: Branch<C>, value: string): Branch<C> {
    let branch = byValue.get(value);
    if (branch === undefined) byValue.set(value, (branch = { cell: null, byValue: new Map() }));
    return branch;
  }

  #fill(branch: Branch<C>, labels: LabelsOf<L>): C {
    const cell = (branch.cell = this.make());
    this.#cells.push({
      labels: Object.fromEntries(this.#names.map((name) => [name, this.#valueOf(name, labels)])),
      cell,
    });
    return cell;
  }

  #valueOf(name: string, labels: LabelsOf<L>): string {
    const value = labels[name] as string;
    const values = this.declared[name];
    if (values === undefined || value === OTHER_VALUE) return OTHER_VALUE;
    if ('follows' in values) return this.#valueOf(values.follows, labels) === OTHER_VALUE ? OTHER_VALUE : value;
    const isKnown = 'max' in values ? this.#isOpened(name, value, values.max) : values.includes(value);
    return isKnown ? value : OTHER_VALUE;
  }

  #isOpened(name: string, value: string, max: number): boolean {
    let opened = this.#opened.get(name);
    if (opened === undefined) this.#opened.set(name, (opened = new Set()));
    if (opened.size < max) opened.add(value);
    return opened.has(value);
  }
}
