// Every row of the specification, and every rule of the protocol, is proven by a test. What a row's
// tests are stands with them; here is only compared, and docs/proofs.md written.
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { AUTHENTICATION_CASES } from '../../test/contract-authentication-cases.js';
import { BILLING_CASES } from '../../test/contract-billing-cases.js';
import { NOTHING_TO_TEST, PROVEN_ELSEWHERE } from '../../test/contract-elsewhere.js';
import { ENDPOINT_CASES } from '../../test/contract-endpoint-cases.js';
import { ERROR_CASES } from '../../test/contract-error-cases.js';
import { FAULT_CASES } from '../../test/contract-fault-cases.js';
import { HEADER_CASES } from '../../test/contract-header-cases.js';
import { LIMIT_CASES } from '../../test/contract-limit-cases.js';
import { LIST_CASES } from '../../test/contract-list-cases.js';
import { PATH_CASES } from '../../test/contract-path-cases.js';
import { REQUEST_CASES } from '../../test/contract-request-cases.js';
import { parseSpecification, specificationRows } from '../../test/contract-specification.js';
import { proofsPage, protocolRules } from '../../test/proofs-page.js';
import { RULE_PROOFS } from '../../test/rule-proofs.js';

const ROOT = new URL('../../../../../', import.meta.url);
const PAGE = new URL('docs/proofs.md', ROOT);
/** By what the name of their file says. */
const CASES_OF = {
  authentication: AUTHENTICATION_CASES,
  billing: BILLING_CASES,
  endpoint: ENDPOINT_CASES,
  error: ERROR_CASES,
  fault: FAULT_CASES,
  header: HEADER_CASES,
  limit: LIMIT_CASES,
  list: LIST_CASES,
  path: PATH_CASES,
  request: REQUEST_CASES,
};
const CASES = Object.values(CASES_OF).flat();
const ROWS = specificationRows();
const proven = new Set([
  ...CASES.flatMap(({ covers }) => covers),
  ...PROVEN_ELSEWHERE.map(({ row }) => row),
  ...Object.keys(NOTHING_TO_TEST),
]);

test('every row of the specification is proven', () => {
  expect(ROWS.filter((row) => !proven.has(row))).toEqual([]);
});

test('no test claims a row that the specification does not have', () => {
  const known = new Set(ROWS);
  expect([...proven].filter((row) => !known.has(row))).toEqual([]);
});

test('a row in which nothing is said is proven by no test', () => {
  const claimed = new Set([...CASES.flatMap(({ covers }) => covers), ...PROVEN_ELSEWHERE.map(({ row }) => row)]);
  expect(Object.keys(NOTHING_TO_TEST).filter((row) => claimed.has(row))).toEqual([]);
});

const RULES = protocolRules().map(({ id }) => id);
const RULES_PROVEN = Object.values(RULE_PROOFS).flatMap((titles) => Object.values(titles).flat());

test('every rule, invariant and failure of the protocol is proven', () => {
  expect(RULES).toEqual(expect.arrayContaining(['r1', 'r18', 'i1', 'i8', 'an edge is killed']));
  expect(RULES.filter((id) => !RULES_PROVEN.includes(id))).toEqual([]);
});

test('no test claims a rule that the protocol does not have', () => {
  expect(RULES_PROVEN.filter((id) => !RULES.includes(id))).toEqual([]);
});

test.each([
  ...PROVEN_ELSEWHERE.map(({ row, file, title }) => [row, title, file] as const),
  ...Object.entries(RULE_PROOFS).flatMap(([file, titles]) =>
    Object.entries(titles).map(([title, rules]) => [rules.join(', '), title, file] as const),
  ),
])('%s: "%s" stands in %s', (_rows, title, file) => {
  const text = readFileSync(new URL(file, ROOT), 'utf8');
  const calls = text.split(/\btest(?:\.concurrent)?(?:\.each(?:<.*>)?\(|\()/);
  // Or it names a row of a table, as a key or as the first of a list.
  const isRow = text.split('\n').some((line) => [`'${title}': {`, `'${title}',`].includes(line.trim()));
  expect(isRow || calls.slice(1).some((call) => call.includes(title))).toBe(true);
});

test('docs/proofs.md is what the tests say (UPDATE_GOLDEN=1 writes it anew)', () => {
  const page = proofsPage({ rows: ROWS, cases: CASES_OF, elsewhere: PROVEN_ELSEWHERE });
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(PAGE, page);
  expect(readFileSync(PAGE, 'utf8')).toBe(page);
});

test('a specification with another row, or a row worded otherwise, has other ids', () => {
  const text =
    '## Errors\n\n| Status | Code | Meaning |\n|---|---|---|\n| 401 or 403 | a, b | x |\n\n1. Rule one is here now.\n';
  expect(parseSpecification(text)).toEqual([
    'errors: 401 a',
    'errors: 401 b',
    'errors: 403 a',
    'errors: 403 b',
    'errors: rule 1 rule one is here',
  ]);
  expect(parseSpecification(text.replace('one is', 'one was'))).toContain('errors: rule 1 rule one was here');
  expect(() => parseSpecification(`${text}\n## Errors\n\n1. Rule one is here still.\n`)).toThrow('two rows');
});
