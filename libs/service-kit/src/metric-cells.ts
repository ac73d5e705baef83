/** Label names with every value that each may have: series are bounded when the metric is declared. */
export type LabelSet = Readonly<Record<string, readonly string[]>>;
export type LabelsOf<L extends LabelSet> = { readonly [K in keyof L]: L[K][number] };
export type Labels = Readonly<Record<string, string>>;

/** Stands in for a label value that was not declared, so that a surprise makes one series and no fault. */
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

  /** `bounds` are upper bounds, inclusive, ascending; what lies above the last goes to one more bucket. */
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

/** One cell per combination of declared label values, made at first use. Keep the cell where it is used often. */
export class Family<C, L extends LabelSet> {
  readonly #cells = new Map<string, { readonly labels: Labels; readonly cell: C }>();
  readonly #names: readonly string[];

  constructor(
    readonly declared: L,
    private readonly make: () => C,
  ) {
    this.#names = Object.keys(declared);
  }

  of(labels: LabelsOf<L>): C {
    let key = '';
    for (const name of this.#names) key += `${this.#valueOf(name, labels)}\u0000`;
    const known = this.#cells.get(key);
    if (known) return known.cell;
    const cell = this.make();
    this.#cells.set(key, {
      labels: Object.fromEntries(this.#names.map((name) => [name, this.#valueOf(name, labels)])),
      cell,
    });
    return cell;
  }

  cells(): Iterable<{ readonly labels: Labels; readonly cell: C }> {
    return this.#cells.values();
  }

  #valueOf(name: string, labels: LabelsOf<L>): string {
    const value = labels[name] as string;
    return this.declared[name]?.includes(value) === true ? value : OTHER_VALUE;
  }
}
