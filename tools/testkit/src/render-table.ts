type Row = readonly string[];

/** The formatter makes no column narrower. */
const WIDTH_MIN = 3;

/**
 * A Markdown table as the formatter would write it, so that reports of verifications and benchmarks
 * are committed as they were made: columns as wide as their widest cell, words to the left and the
 * columns after `wordColumns` to the right.
 */
export function renderTable(head: Row, rows: readonly Row[], wordColumns = 1): string {
  const widths = head.map((title, at) => Math.max(WIDTH_MIN, title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (row: Row): string =>
    `| ${widths.map((width, at) => (at < wordColumns ? (row[at] ?? '').padEnd(width) : (row[at] ?? '').padStart(width))).join(' | ')} |`;
  const rule = widths.map((width, at) => (at < wordColumns ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}
