export interface Step {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}
export interface Line {
  readonly kind: 'call' | 'stream';
  readonly at: number;
  readonly ms: number;
  readonly status: number | null;
  readonly problem: string | null;
}
export function renderResults(run: {
  readonly steps: readonly Step[];
  readonly lines: readonly Line[];
  readonly version: string;
  readonly nodes: number;
}): string;
export function tally(
  step: Step,
  lines: readonly Line[],
): {
  readonly calls: number;
  readonly refused: number;
  readonly slowestMs: number;
  readonly streams: number;
  readonly cut: number;
  readonly problems: ReadonlyMap<string, number>;
};
