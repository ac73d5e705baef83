// Every row of the specification is proven by a test. What a row's tests are stands with them; here is only compared.
import { readFileSync } from 'node:fs';
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

const ROOT = new URL('../../../../../', import.meta.url);
const CASES = [
  ...AUTHENTICATION_CASES,
  ...BILLING_CASES,
  ...ENDPOINT_CASES,
  ...ERROR_CASES,
  ...FAULT_CASES,
  ...HEADER_CASES,
  ...LIMIT_CASES,
  ...LIST_CASES,
  ...PATH_CASES,
  ...REQUEST_CASES,
];
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

test.each(PROVEN_ELSEWHERE.map(({ row, file, title }) => [row, title, file] as const))(
  '%s: "%s" stands in %s',
  (_row, title, file) => {
    const calls = readFileSync(new URL(file, ROOT), 'utf8').split(/\btest(?:\.concurrent)?(?:\.each\(|\()/);
    expect(calls.slice(1).filter((call) => call.includes(title))).not.toEqual([]);
  },
);

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
