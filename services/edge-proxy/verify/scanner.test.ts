import { expect, test } from '@jest/globals';
import { SeededRandom } from '@gateway/testkit/random';
import { testSeed } from '@gateway/testkit/seed';
import { scanObject, type ScanResult } from '../src/json/json-scanner.js';
import { compareScan } from './compare-scan.js';
import { generateDocument } from './generate-document.js';
import { printFigures, readCaseCount } from './random-cases.js';

/** Documents of the short run in every test run; `npm run verify:fuzz -- scanner` sets more. */
const DOCUMENTS_DEFAULT = 20_000;
const MINUTE_MS = 60_000;

const documents = readCaseCount('GATEWAY_VERIFY_DOCUMENTS', DOCUMENTS_DEFAULT);
const seed = testSeed();

test(
  `${documents} documents give the same result as with JSON.parse (seed ${seed})`,
  () => {
    const random = new SeededRandom(seed);
    let accepted = 0;
    let bytes = 0;
    for (let number = 0; number < documents; number += 1) {
      const document = generateDocument(random);
      const compared = compareScan(document);
      if (compared.difference !== null) {
        const text = document.toString('base64');
        throw new Error(`seed ${seed}, document ${number}: ${compared.difference}\n${text}`);
      }
      if (compared.accepted) accepted += 1;
      bytes += document.length;
    }
    expect(accepted).toBeGreaterThan(documents / 2);
    expect(documents - accepted).toBeGreaterThan(documents / 5);
    if (documents > DOCUMENTS_DEFAULT) printFigures({ seed, documents, accepted, bytes });
  },
  240 * MINUTE_MS,
);

test('a seed always generates the same documents', () => {
  const bytes = (each: number): string => {
    const random = new SeededRandom(each);
    return Array.from({ length: 50 }, () => generateDocument(random).toString('latin1')).join('\n');
  };
  expect(bytes(7)).toBe(bytes(7));
  expect(bytes(7)).not.toBe(bytes(8));
});

type Members = Extract<ScanResult, { ok: true }>['members'];

test.each<[string, (result: ScanResult) => ScanResult]>([
  ['rejects valid documents', () => ({ ok: false, problem: 'syntax', at: 0 })],
  ['accepts invalid documents', (result) => (result.ok ? result : { ok: true, members: [] })],
  ['loses a member', (result) => (result.ok ? { ok: true, members: result.members.slice(1) } : result)],
  ['decodes escapes wrongly', (result) => withMembers(result, (one) => ({ ...one, name: one.name.replace('e', 'E') }))],
  ['returns a wrong end', (result) => withMembers(result, (one) => ({ ...one, end: one.end + 1 }))],
  ['returns a wrong start', (result) => withMembers(result, (one) => ({ ...one, start: one.start - 1 }))],
  [
    'returns a late name position',
    (result) => withMembers(result, (one) => ({ ...one, nameStart: one.nameStart + 1 })),
  ],
  [
    'returns an early name position',
    (result) => withMembers(result, (one) => ({ ...one, nameStart: one.nameStart - 1 })),
  ],
  ['loses the last member', (result) => (result.ok ? { ok: true, members: result.members.slice(0, -1) } : result)],
  ['miscounts elements', (result) => withMembers(result, (one) => ({ ...one, elements: one.elements + 1 }))],
])('the comparison detects a scanner that %s', (_name, spoil) => {
  const random = new SeededRandom(1);
  const differences = Array.from({ length: 500 }, () =>
    compareScan(generateDocument(random), (body) => spoil(scanObject(body))),
  );
  expect(differences.some(({ difference }) => difference !== null)).toBe(true);
});

function withMembers(result: ScanResult, change: (member: Members[number]) => Members[number]): ScanResult {
  return result.ok ? { ok: true, members: result.members.map(change) } : result;
}
