import { renderTable } from '@gateway/testkit';

export interface ReportTable {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly wordColumns?: number;
  readonly note?: string;
}

export interface Report {
  readonly title: string;
  readonly command: string;
  readonly about: string;
  readonly tables: readonly ReportTable[];
  readonly violations: readonly string[];
}

export function renderReport({ title, command, about, tables, violations }: Report): string {
  const parts = tables.flatMap(({ head, rows, wordColumns, note }) => [
    renderTable(head, rows, wordColumns),
    note ?? [],
  ]);
  const found = violations.length === 0 ? 'Violations: none.' : `Violations: ${violations.length}.`;
  const list = violations.length === 0 ? [] : violations.map((sentence) => `- ${sentence}`).join('\n');
  return [`# ${title}`, `\`${command}\`: ${about}`, ...parts, found, list].flat().join('\n\n') + '\n';
}

export function countTable(title: string, counts: Readonly<Record<string, number>>): ReportTable {
  return { head: [title, 'count'], rows: Object.entries(counts).map(([name, count]) => [name, thousands(count)]) };
}

export function thousands(count: number): string {
  return Math.round(count).toLocaleString('en');
}

export function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}

export function countEach<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}
