/**
 * Parses a CSV of RFC 4180 into rows by the names in its header. It is independent of the code that
 * writes the CSV. Empty cells are null.
 */
export function readCsv(text: string): Record<string, string | null>[] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] as string;
    if (quoted) {
      if (char !== '"') cell += char;
      else if (text[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === ',') {
      row.push(cell);
      cell = '';
    } else if (char === '\r' && text[at + 1] === '\n') {
      at += 1;
      rows.push([...row, cell]);
      row = [];
      cell = '';
    } else cell += char;
  }
  if (row.length > 0 || cell !== '' || quoted) throw new Error('the last line does not end');
  const [names = [], ...lines] = rows;
  return lines.map((line) => {
    if (line.length !== names.length) throw new Error(`a line has ${line.length} cells of ${names.length}`);
    return Object.fromEntries(names.map((name, index) => [name, unescaped(line[index] as string)]));
  });
}

/** Removes the apostrophe that prevents a spreadsheet from interpreting a text as a formula. */
function unescaped(cell: string): string | null {
  if (cell === '') return null;
  return cell.startsWith("'") ? cell.slice(1) : cell;
}
