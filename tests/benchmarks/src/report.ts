import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { renderTable } from '@gateway/testkit';

/** One part of the page: a table or text below a heading. */
export interface Section {
  readonly title: string;
  readonly text: string;
}

/** Result of every benchmark: `<name>.md` has the page, `<name>.json` also the samples. */
export interface Report {
  readonly title: string;
  /** Name and text, in the order of the page. */
  readonly facts: readonly (readonly [string, string])[];
  /** Why some rounds are missing, or null if all are included. */
  readonly brokenOff: string | null;
  readonly sections: readonly Section[];
  /** Missing or unreliable measurements, with reasons. */
  readonly notes: readonly string[];
  /** The measured values by name. */
  readonly samples: Readonly<Record<string, unknown>>;
}

/**
 * Returns a section with a table, and with `text` below it. The first column is words, the others
 * numbers.
 */
export function table(
  title: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
  text = '',
): Section {
  return { title, text: `${renderTable(head, rows)}${text === '' ? '' : `\n\n${text}`}` };
}

/** Renders the report as Markdown. */
export function renderReport({ title, facts, brokenOff, sections, notes }: Report): string {
  const parts = [
    `# ${title}`,
    ...(brokenOff === null ? [] : [`**Aborted**: ${brokenOff}`]),
    facts.map(([name, text]) => `- **${name}**: ${text}`).join('\n'),
    ...sections.map((section) => `## ${section.title}\n\n${section.text}`),
    ...(notes.length === 0 ? [] : [`## Not measured, or unreliable\n\n${notes.map((note) => `- ${note}`).join('\n')}`]),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** Writes both files and returns their paths. */
export function writeReport(report: Report, directory: string, name: string): string[] {
  mkdirSync(directory, { recursive: true });
  const files: [string, string][] = [
    [`${directory}/${name}.md`, renderReport(report)],
    [`${directory}/${name}.json`, `${JSON.stringify(report, rounded, 2)}\n`],
  ];
  for (const [file, text] of files) writeFileSync(file, text);
  return files.map(([file]) => file);
}

/** Rounds to the precision of the clock. */
function rounded(_name: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value;
}

const GIB = 1024 ** 3;

/** Returns facts about the machine. Read them before the run, because of the load average. */
export function readMachineFacts(): [string, string][] {
  const model = cpus()[0]?.model.trim() ?? 'unknown';
  return [
    ['Machine', `${availableParallelism()} cores (${model}), ${Math.round(totalmem() / GIB)} GiB, Linux ${release()}`],
    ['Node', process.version],
    ['Load of the machine before', readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).join(', ')],
  ];
}
