/**
 * Returns the sum of all series of a sample name in Prometheus' text format, or null if there is
 * none.
 * @param label includes only series with this label, such as `store="redis"`
 */
export function sumOfMetric(text: string, name: string, label = ''): number | null {
  const labels = label === '' ? '(?:\\{.*\\})?' : `\\{(?:.*,)?${label}(?:,.*)?\\}`;
  const values = [...text.matchAll(new RegExp(`^${name}${labels} (\\S+)`, 'gm'))].map(([, value]) => Number(value));
  return values.length === 0 ? null : sumOf(values);
}

export function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Returns the middle value, or the mean of the two in the middle. NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return ((sorted[Math.floor(sorted.length / 2)] ?? NaN) + (sorted[Math.ceil(sorted.length / 2) - 1] ?? NaN)) / 2;
}

/** Returns the smallest value that at least `percent` of the values do not exceed. NaN without. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(1, Math.ceil((percent / 100) * sorted.length)) - 1] ?? NaN;
}

type Row = readonly string[];

/** Minimum column width of the formatter. */
const WIDTH_MIN = 3;

/**
 * Renders a Markdown table exactly as the formatter does, so that reports of verifications and
 * benchmarks can be committed unchanged. Each column is as wide as its widest cell. The first
 * `wordColumns` columns are aligned to the left, the others to the right.
 */
export function renderTable(head: Row, rows: readonly Row[], wordColumns = 1): string {
  const widths = head.map((title, at) => Math.max(WIDTH_MIN, title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (row: Row): string =>
    `| ${widths.map((width, at) => (at < wordColumns ? (row[at] ?? '').padEnd(width) : (row[at] ?? '').padStart(width))).join(' | ')} |`;
  const rule = widths.map((width, at) => (at < wordColumns ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}
