import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release } from 'node:os';
import { renderTable } from '@gateway/testkit';

/** Result of every benchmark: `<name>.md` has the page, `<name>.json` also the samples. */
export interface Report {
  readonly title: string;
  /** Name and text, in the order of the page. */
  readonly facts: readonly (readonly [string, string])[];
  /** Tables or texts below a heading. */
  readonly sections: readonly { readonly title: string; readonly text: string }[];
  /** Missing or unreliable measurements, with reasons. */
  readonly notes?: readonly string[];
  /** The measured values by name. */
  readonly samples: Readonly<Record<string, unknown>>;
}

/** Returns a section with a table, and with `text` below it. Numbers are formatted. */
export function table(
  title: string,
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  text = '',
): Report['sections'][number] {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? formatNumber(cell) : cell)));
  return { title, text: `${renderTable(head, cells)}${text === '' ? '' : `\n\n${text}`}` };
}

/** Formats a number with thousands separators: 0.213, 4.7, 163, 12,400. A dash if it is unknown. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/** Renders the report as Markdown. */
export function renderReport({ title, facts, sections, notes = [] }: Report): string {
  const parts = [
    `# ${title}`,
    facts.map(([name, text]) => `- **${name}**: ${text}`).join('\n'),
    ...sections.map((section) => `## ${section.title}\n\n${section.text}`),
    ...(notes.length === 0 ? [] : [`## Not measured, or unreliable\n\n${notes.map((note) => `- ${note}`).join('\n')}`]),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** Writes the page and the samples. Returns the path of the page. */
export function writeReport(report: Report, directory: string, name: string): string {
  mkdirSync(directory, { recursive: true });
  writeFileSync(`${directory}/${name}.md`, renderReport(report));
  writeFileSync(`${directory}/${name}.json`, `${JSON.stringify(report)}\n`);
  return `${directory}/${name}.md`;
}

/** Returns facts about the machine. Read them before the run, because of the load average. */
export function readMachineFacts(): [string, string][] {
  const model = cpus()[0]?.model.trim() ?? 'unknown';
  return [
    ['Machine', `${availableParallelism()} cores (${model}), Linux ${release()}, Node ${process.version}`],
    ['Load of the machine before', readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).join(', ')],
    ['Started', new Date().toISOString()],
  ];
}
