import { readFileSync } from 'node:fs';
import type { ContractCase, ProvenElsewhere } from './contract-case.js';
import { NOTHING_TO_TEST } from './contract-elsewhere.js';
import { RULE_PROOFS } from './rule-proofs.js';

const ROOT = new URL('../../../../', import.meta.url);
const MUTATIONS = 'deploy/verify/simulation/src/mutations/mutations.ts';
const CASES = 'deploy/verify/e2e/test';
/** Titles of one file that a row of the specification names; of the others their number. */
const TITLES_MAX = 3;

/** A rule, an invariant or a failure of docs/protocol.md. */
export interface ProtocolRule {
  /** `r7`, `i2`, or what fails, as its table says it. */
  readonly id: string;
  /** Anchor of the page. */
  readonly anchor: string;
  /** How the page calls it. */
  readonly name: string;
}

/** In the order of the page. */
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
  // The first two lines of the table are its head.
  return [...rules, ...invariants, ...failures.slice(2)];
}

/**
 * Rows of the specification with their tests, and where the cases stand, by the last word of their
 * file's name.
 */
export interface SpecificationProofs {
  readonly rows: readonly string[];
  readonly cases: Readonly<Record<string, readonly Pick<ContractCase, 'title' | 'covers'>[]>>;
  readonly elsewhere: readonly ProvenElsewhere[];
}

/** The text of docs/proofs.md. */
export function proofsPage(specification: SpecificationProofs): string {
  const rules = protocolRules();
  return [
    '# Which test proves what',
    '',
    'This page is made of the data beside the tests; a test compares it. `UPDATE_GOLDEN=1 npm test -- coverage` writes it',
    'anew. A test stands here if it fails when what it proves is broken; others touch the same. Titles are those of the',
    'source: `%s` stands for the rows of a table. `npm test` leaves out a `*.system.test.ts`: `npm run test:system` runs',
    'it.',
    '',
    '## Rules of the protocol',
    '',
    `The tests of rules, invariants and failures stand in [rule-proofs.ts](../${CASES}/rule-proofs.ts). Beside them`,
    '`npm run prove:simulation -- --mutations` plants violations of rules. The last column counts those that the',
    `simulation finds. [mutations.ts](../${MUTATIONS}) says why it does not find the others.`,
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
    'Rows of [the specification](../libs/contracts/specification/model-gateway-api.md), named as the tests name them,',
    'section by section. Rows that show the same tests are one line.',
    ...specificationTables(specification),
    '',
    '## What nothing proves',
    '',
    'Sentences of the specification that promise nothing which could be seen:',
    '',
    ...Object.entries(NOTHING_TO_TEST).map(([row, why]) => `- ${code(row)}: ${why}.`),
    '',
  ].join('\n');
}

function ruleRow({ id, anchor, name }: ProtocolRule): string {
  const tests = Object.entries(RULE_PROOFS).flatMap(([file, titles]) =>
    Object.keys(titles)
      .filter((title) => titles[title]?.includes(id))
      .map((title) => ({ file, title })),
  );
  return `| [${name}](protocol.md#${anchor}) | ${testsCell(tests)} |`;
}

/** `2 of 3 found`; nothing when no violation names the rule. */
function plantedCount(rule: string): string {
  const entries = readFileSync(new URL(MUTATIONS, ROOT), 'utf8').split(/^ {4}name: /m);
  const planted = entries.filter((entry) => /^'.*docs\/protocol\.md#(r\d+)/.exec(entry)?.[1] === rule);
  const found = planted.filter((entry) => !/^ {4}unseen: /m.test(entry));
  return planted.length === 0 ? '' : `${found.length} of ${planted.length} found`;
}

function specificationTables({ rows, cases, elsewhere }: SpecificationProofs): string[] {
  const tests = [
    ...Object.entries(cases).flatMap(([kind, each]) =>
      each.map(({ title, covers }) => ({ title, covers, file: `${CASES}/contract-${kind}-cases.ts` })),
    ),
    ...elsewhere.map(({ row, file, title }) => ({ title, covers: [row], file })),
  ];
  const sections = new Map<string, Map<string, string[]>>();
  for (const row of rows.filter((each) => NOTHING_TO_TEST[each] === undefined)) {
    const [section = '', ...rest] = row.split(': ');
    const lines = sections.get(section) ?? new Map<string, string[]>();
    const cell = testsCell(
      tests.filter(({ covers }) => covers.includes(row)),
      TITLES_MAX,
    );
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

/** Each file once, with its titles; above `titlesMax` of one file their number. */
function testsCell(tests: readonly { file: string; title: string }[], titlesMax = Infinity): string {
  const files = new Set(tests.map(({ file }) => file));
  const lines = [...files].map((file) => {
    const titles = tests.filter((each) => each.file === file).map(({ title }) => code(title));
    const more = titles.length > titlesMax ? [`and ${titles.length - titlesMax} more`] : [];
    return [`[${file.split('/').at(-1)}](../${file}):`, ...titles.slice(0, titlesMax), ...more].join('<br>');
  });
  return lines.join('<br>');
}

function code(text: string): string {
  return `\`${text.replaceAll('|', '\\|')}\``;
}
