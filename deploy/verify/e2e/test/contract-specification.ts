import { readFileSync } from 'node:fs';

const SPECIFICATION = new URL('../../../../libs/contracts/specification/model-gateway-api.md', import.meta.url);

/** Words of a sentence that name it: a changed sentence is another row. */
const WORDS_OF_A_RULE = 4;
/** Tables in which the first column alone does not name a row: their columns that do. */
const KEY_COLUMNS: Readonly<Record<string, readonly number[]>> = {
  'Status,Code,Condition': [0, 1],
  'Status,Code,Meaning': [0, 1],
  'Method,Path,Request,Success response': [0, 1],
  'State,Trigger,Condition,Next state,Also': [0, 1],
};

/**
 * Every row of every table and every sentence, list entry and numbered rule of the specification,
 * as ids of the form `<section>: <row>`. A row that names several codes, or several fields, is one
 * id for each. A line that only announces what follows it is none.
 */
export function specificationRows(): readonly string[] {
  return parseSpecification(readFileSync(SPECIFICATION, 'utf8'));
}

/** @throws Error when two rows would have one id */
export function parseSpecification(text: string): readonly string[] {
  const ids: string[] = [];
  let section = '';
  let header: string[] | null = null;
  let sentence = 0;
  for (const line of text.split('\n').map((raw) => raw.trim())) {
    if (!line.startsWith('|')) header = null;
    if (line === '') continue;
    if (line.startsWith('#')) {
      section = line.replace(/^#+ /, '').replace(/ \(.*/, '').toLowerCase();
      sentence = 0;
    } else if (line.startsWith('|')) {
      const cells = cellsOf(line);
      if (header === null) header = cells;
      else if (!/^\|[-|]+$/.test(line)) ids.push(...rowKeys(header, cells).map((key) => `${section}: ${key}`));
    } else if (!/^[^\d].*:$/.test(line)) {
      sentence += 1;
      ids.push(`${section}: ${ruleKey(line, sentence)}`);
    }
  }
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw new Error(`two rows of the specification are called "${twice}"`);
  return ids;
}

function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

function rowKeys(header: readonly string[], cells: readonly string[]): string[] {
  const name = header.join(',');
  if (name === 'Request,Required fields,Optional fields') return fieldKeys(cells);
  if (name === 'Retry,Codes') {
    return listed(cells[1] ?? '').map((codes) => `${cells[0]}: ${codes.split(' (')[0]}`);
  }
  const columns = KEY_COLUMNS[name] ?? [0];
  const key = columns.map((column) => cells[column] ?? '');
  if (!name.startsWith('Status,Code')) return [key.join(' ')];
  const [statuses = '', codes = ''] = key;
  return statuses.split(' or ').flatMap((status) => listed(codes).map((code) => `${status} ${code}`));
}

/**
 * A request's fields, each with its type:
 * `model (string, catalog id), messages (array of objects)`.
 */
function fieldKeys([request = '', ...columns]: readonly string[]): string[] {
  return columns.flatMap((column) => listed(column).map((field) => `${request} ${field.split(' (')[0]}`));
}

/** The parts of a list: commas inside parentheses part nothing. */
function listed(text: string): string[] {
  return text
    .split(/,\s*(?![^(]*\))/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/**
 * `3 creating-one-more`: the number that stands there, or the place among the sentences of its
 * section.
 */
function ruleKey(line: string, place: number): string {
  const numbered = /^(\d+)\. (.*)$/.exec(line);
  const words = (numbered?.[2] ?? line).toLowerCase().match(/[a-z0-9_/.]*[a-z0-9_]/g) ?? [];
  return `${numbered === null ? `sentence ${place}` : `rule ${numbered[1]}`} ${words.slice(0, WORDS_OF_A_RULE).join(' ')}`;
}
