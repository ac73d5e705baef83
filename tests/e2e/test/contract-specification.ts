import { readFileSync } from 'node:fs';

const SPECIFICATION = new URL('../../../libs/contracts/specification/model-gateway-api.md', import.meta.url);

/** Number of words that identify a sentence, so that a changed sentence gets another ID. */
const WORDS_OF_A_RULE = 4;
/** Key columns of tables whose first column alone does not identify a row. */
const KEY_COLUMNS: Readonly<Record<string, readonly number[]>> = {
  'Status,Code,Condition': [0, 1],
  'Status,Code,Meaning': [0, 1],
  'Method,Path,Request,Success response': [0, 1],
  'State,Trigger,Condition,Next state,Also': [0, 1],
};

/**
 * Returns the IDs of every table row, sentence, list entry and numbered rule of the specification,
 * in the form `<section>: <row>`. A row with several codes or fields has one ID for each. A line
 * that only introduces the next lines has no ID.
 */
export function readSpecificationRows(): readonly string[] {
  return parseSpecification(readFileSync(SPECIFICATION, 'utf8'));
}

/** @throws Error if two rows have the same ID */
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
  if (twice !== undefined) throw new Error(`two rows of the specification have the ID "${twice}"`);
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
 * Returns the fields of a request, which have their type in parentheses:
 * `model (string, catalog id), messages (array of objects)`.
 */
function fieldKeys([request = '', ...columns]: readonly string[]): string[] {
  return columns.flatMap((column) => listed(column).map((field) => `${request} ${field.split(' (')[0]}`));
}

/** Splits a list at commas outside parentheses. */
function listed(text: string): string[] {
  return text
    .split(/,\s*(?![^(]*\))/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/**
 * Returns a sentence's key: the number of the rule, or the sentence's position in its section, and
 * the first words.
 */
function ruleKey(line: string, place: number): string {
  const numbered = /^(\d+)\. (.*)$/.exec(line);
  const words = (numbered?.[2] ?? line).toLowerCase().match(/[a-z0-9_/.]*[a-z0-9_]/g) ?? [];
  return `${numbered === null ? `sentence ${place}` : `rule ${numbered[1]}`} ${words.slice(0, WORDS_OF_A_RULE).join(' ')}`;
}
