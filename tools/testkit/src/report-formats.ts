/**
 * Returns the sum of all series of a sample name in Prometheus' text format, or null if there is
 * none.
 * @param label includes only series with this label, such as `store="redis"`
 */
export function sumOfMetric(text: string, name: string, label = ''): number | null {
  const labels = label === '' ? '(?:\\{.*\\})?' : `\\{(?:.*,)?${label}(?:,.*)?\\}`;
  const values = [...text.matchAll(new RegExp(`^${name}${labels} (\\S+)`, 'gm'))].map(([, value]) => Number(value));
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
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
