import { readFileSync } from 'node:fs';
import type { ContractCase } from './contract-case.js';
import type { CoverComment } from './covered-rules.js';

const ROOT = new URL('../../../', import.meta.url);
const MUTATIONS = 'tests/simulation/src/mutations/mutations.ts';
const CASES = 'tests/e2e/test';

/** Sentences of the specification that promise no observable behaviour, each with its reason. */
export const NOTHING_TO_TEST: Readonly<Record<string, string>> = {
  'model gateway api specification: sentence 1 this single document covers': 'the subject of the document',
  'events: sentence 2 usage alerts at 50': 'their delivery is not specified, and API clients receive none',
  'events: sentence 3 webhook or callback events': 'not specified',
  'limits: rule 10 plan specific numbers not': 'not specified',
  'versioning: sentence 3 deprecation and compatibility policy': 'not specified',
};

/** A rule, an invariant or a failure of docs/protocol.md. */
export interface ProtocolRule {
  /** `r7`, `i2`, or the failure's name in its table. */
  readonly id: string;
  /** Anchor in the page. */
  readonly anchor: string;
  /** Name in the page. */
  readonly name: string;
}

/** Returns the rules in the order of the page. */
export function protocolRules(): readonly ProtocolRule[] {
  const page = readFileSync(new URL('docs/protocol.md', ROOT), 'utf8');
  const rules = [...page.matchAll(/<a id="(r\d+)"><\/a>\s*### (.*)/g)].map(([, id = '', name = '']) => ({
    id,
    anchor: id,
    name,
  }));
  const invariants = [...page.matchAll(/<a id="(i\d+)"><\/a>([^.;]*)/g)].map(([, id = '', name = '']) => ({
    id,
    anchor: id,
    name: name.replace(/\s+/g, ' '),
  }));
  const [, table = ''] = page.split('<a id="failures"></a>');
  const failures = [...(table.split('<a id=')[0] ?? '').matchAll(/^\| (.*?) *\|/gm)].map(([, name = '']) => ({
    id: name,
    anchor: 'failures',
    name,
  }));
  // The first two lines of the table are its header.
  return [...rules, ...invariants, ...failures.slice(2)];
}

/** Input of the page. */
export interface Coverage {
  /** IDs of `readSpecificationRows`. */
  readonly rows: readonly string[];
  /** Cases by the last word of their file's name. */
  readonly cases: Readonly<Record<string, readonly Pick<ContractCase, 'covers'>[]>>;
  readonly comments: readonly CoverComment[];
}

/** Returns the text of docs/proofs.md. */
export function proofsPage({ rows, cases, comments }: Coverage): string {
  const filesOf = new Map<string, Set<string>>();
  const add = (ids: readonly string[], file: string): void => {
    for (const id of ids) filesOf.set(id, (filesOf.get(id) ?? new Set()).add(file));
  };
  for (const [kind, each] of Object.entries(cases)) {
    for (const { covers } of each) add(covers, `${CASES}/contract-${kind}-cases.ts`);
  }
  for (const { ids, file } of comments) add(ids, file);
  const files = (id: string): string => [...(filesOf.get(id) ?? [])].sort().map(link).join('<br>');
  const ruleRow = ({ id, anchor, name }: ProtocolRule): string => {
    const shownId = anchor === id ? `${id}: ` : '';
    return `| ${shownId}[${name}](protocol.md#${anchor}) | ${files(id)} |`;
  };
  const rules = protocolRules();
  return [
    '# Which test covers what',
    '',
    'Generated: `UPDATE_GOLDEN=1 npm test -- coverage` writes this page. In the files below, the comment `// Covers` above a test, or the',
    'field `covers` of a case, names the ID of each rule or row. A test covers a rule if it fails when the rule is broken.',
    '`npm run test:system` runs the files that end in `.system.test.ts`.',
    '',
    '## Rules of the protocol',
    '',
    '`npm run verify:simulation -- --mutations` plants violations of rules. The last column has the number that the simulation',
    'finds. [The simulation](../tests/simulation/README.md#what-it-finds) has the reason for each of the others.',
    '',
    '| Rule | Tests | Planted violations |',
    '| --- | --- | --- |',
    ...rules.filter(({ id }) => /^r\d/.test(id)).map((rule) => `${ruleRow(rule)} ${plantedCount(rule.id)} |`),
    '',
    '## Invariants',
    '',
    '| Invariant | Tests |',
    '| --- | --- |',
    ...rules.filter(({ id }) => /^i\d/.test(id)).map(ruleRow),
    '',
    '## Failures',
    '',
    '| What fails | Tests |',
    '| --- | --- |',
    ...rules.filter(({ anchor }) => anchor === 'failures').map(ruleRow),
    '',
    '## The specification',
    '',
    'Rows of [the specification](../libs/contracts/specification/model-gateway-api.md) by section. Rows with the same tests share a line.',
    ...specificationTables(rows, files),
    '',
    '## Sentences without a test',
    '',
    ...Object.entries(NOTHING_TO_TEST).map(([row, why]) => `- ${code(row)}: ${why}.`),
    '',
  ].join('\n');
}

/** Returns text like `2 of 3 found`, or an empty string if no violation names the rule. */
function plantedCount(rule: string): string {
  const [found = 0, others = 0] = readFileSync(new URL(MUTATIONS, ROOT), 'utf8')
    .split(/^const NOT_FOUND/m)
    .map((part) => part.split(`(docs/protocol.md#${rule})':`).length - 1);
  return found + others === 0 ? '' : `${found} of ${found + others} found`;
}

function specificationTables(rows: readonly string[], files: (row: string) => string): string[] {
  const sections = new Map<string, Map<string, string[]>>();
  for (const row of rows.filter((each) => NOTHING_TO_TEST[each] === undefined)) {
    const [section = '', ...rest] = row.split(': ');
    const lines = sections.get(section) ?? new Map<string, string[]>();
    const cell = files(row);
    sections.set(
      section,
      lines.set(cell, [...(lines.get(cell) ?? []), code(rest.join(': ').replace(/^rule (\d+)/, '$1.'))]),
    );
  }
  return [...sections].flatMap(([section, lines]) => [
    '',
    `### ${section.charAt(0).toUpperCase()}${section.slice(1)}`,
    '',
    '| Rows | Tests |',
    '| --- | --- |',
    ...[...lines].map(([cell, names]) => `| ${names.join('<br>')} | ${cell} |`),
  ]);
}

function link(file: string): string {
  return `[${file.split('/').at(-1)}](../${file})`;
}

function code(text: string): string {
  return `\`${text.replaceAll('|', '\\|')}\``;
}
