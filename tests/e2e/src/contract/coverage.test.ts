// Checks that every row of the specification and every rule of the protocol has a test. Writes
// docs/proofs.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { trackedFiles } from '../../../../tools/check/citations.mjs';
import { AUTHENTICATION_CASES } from '../../test/contract-authentication-cases.js';
import { BILLING_CASES } from '../../test/contract-billing-cases.js';
import { ENDPOINT_CASES } from '../../test/contract-endpoint-cases.js';
import { ERROR_CASES } from '../../test/contract-error-cases.js';
import { FAULT_CASES } from '../../test/contract-fault-cases.js';
import { HEADER_CASES } from '../../test/contract-header-cases.js';
import { LIMIT_CASES } from '../../test/contract-limit-cases.js';
import { LIST_CASES } from '../../test/contract-list-cases.js';
import { PATH_CASES } from '../../test/contract-path-cases.js';
import { REQUEST_CASES } from '../../test/contract-request-cases.js';
import { parseSpecification, readSpecificationRows } from '../../test/contract-specification.js';
import { readCoverComments } from '../../test/covered-rules.js';
import { NOTHING_TO_TEST, proofsPage, protocolRules } from '../../test/proofs-page.js';

const ROOT = new URL('../../../../', import.meta.url);
const PAGE = new URL('docs/proofs.md', ROOT);
/** Cases by the last word of their file's name. */
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
const ROWS = readSpecificationRows();
const RULES = protocolRules().map(({ id }) => id);
const COMMENTS = readCoverComments(trackedFiles(fileURLToPath(ROOT).replace(/\/$/, '')).files);
const covered = new Set([...CASES.flatMap(({ covers }) => covers), ...COMMENTS.flatMap(({ ids }) => ids)]);

test('every row of the specification has a test', () => {
  expect(ROWS.filter((row) => !covered.has(row) && NOTHING_TO_TEST[row] === undefined)).toEqual([]);
});

test('every rule, invariant and failure of the protocol has a test', () => {
  expect(RULES).toEqual(expect.arrayContaining(['r1', 'r18', 'i1', 'i8', 'an edge is killed']));
  expect(RULES.filter((id) => !covered.has(id))).toEqual([]);
});

test('no test covers an unknown rule or a row without a promise', () => {
  const known = new Set([...ROWS, ...RULES]);
  expect([...covered, ...Object.keys(NOTHING_TO_TEST)].filter((id) => !known.has(id))).toEqual([]);
  expect([...covered].filter((id) => NOTHING_TO_TEST[id] !== undefined)).toEqual([]);
});

test('every comment "Covers" is above a test', () => {
  expect(COMMENTS.length).toBeGreaterThan(100);
  expect(COMMENTS.filter(({ isAboveTest }) => !isAboveTest)).toEqual([]);
});

test('readCoverComments() reports a comment without a test', () => {
  const comments = readCoverComments(
    new Map([
      [
        'a.test.ts',
        "// Covers r1; NATS is gone\ntest('x', () => {});\n  // Covers i2\n  // why\n  test.each([1])('y');\n",
      ],
      ['b.test.ts', '// Covers r2\nconst x = 1;\n'],
      ['c.ts', '// Covers r3\n'],
    ]),
  );
  expect(comments).toEqual([
    { file: 'a.test.ts', ids: ['r1', 'NATS is gone'], isAboveTest: true },
    { file: 'a.test.ts', ids: ['i2'], isAboveTest: true },
    { file: 'b.test.ts', ids: ['r2'], isAboveTest: false },
  ]);
});

test('docs/proofs.md is current (UPDATE_GOLDEN=1 writes it)', () => {
  const page = proofsPage({ rows: ROWS, cases: CASES_OF, comments: COMMENTS });
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(PAGE, page);
  expect(readFileSync(PAGE, 'utf8')).toBe(page);
});

test('a new or reworded row of the specification has another ID', () => {
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
