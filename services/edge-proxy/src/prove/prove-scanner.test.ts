import { expect, test } from '@jest/globals';
import { randomInt } from 'node:crypto';
import { scanObject, type ScanResult } from '../domain/json-scanner.js';
import { compareScan } from './compare-scan.js';
import { generateDocument } from './generate-document.js';
import { proveScanner } from './prove-scanner.js';
import { Random } from './random.js';

/** A short run of what `npm run prove:scanner` does at length. */
test('no generated document is read differently by the scanner and by JSON.parse', () => {
  const seed = randomInt(1, 2 ** 31);
  const proof = proveScanner(seed, 20_000, 20_000, () => undefined);
  expect([seed, proof.failure?.difference, proof.failure?.document.toString('base64')]).toEqual([
    seed,
    undefined,
    undefined,
  ]);
  expect(proof.accepted).toBeGreaterThan(10_000);
  expect(proof.documents - proof.accepted).toBeGreaterThan(4_000);
});

test('a seed gives the same documents again', () => {
  const bytes = (seed: number): string => {
    const random = new Random(seed);
    return Array.from({ length: 50 }, () => generateDocument(random).bytes.toString('latin1')).join('\n');
  };
  expect(bytes(7)).toBe(bytes(7));
  expect(bytes(7)).not.toBe(bytes(8));
});

test.each<[string, (result: ScanResult, body: Buffer) => ScanResult]>([
  ['refuses what is right', () => ({ ok: false, problem: 'syntax', at: 0 })],
  ['accepts what is wrong', (result) => (result.ok ? result : { ok: true, members: [] })],
  ['loses a member', (result) => (result.ok ? { ok: true, members: result.members.slice(1) } : result)],
  [
    'decodes no escape',
    (result) => withMembers(result, (member) => ({ ...member, name: member.name.replace('e', 'E') })),
  ],
  ['gives a place after', (result) => withMembers(result, (member) => ({ ...member, end: member.end + 1 }))],
  [
    'gives a name’s place after',
    (result) => withMembers(result, (member) => ({ ...member, nameStart: member.nameStart + 1 })),
  ],
  ['miscounts elements', (result) => withMembers(result, (member) => ({ ...member, elements: member.elements + 1 }))],
])('a scanner that %s is found out', (_name, spoil) => {
  const random = new Random(1);
  const differences = Array.from({ length: 500 }, () =>
    compareScan(generateDocument(random), (body) => spoil(scanObject(body), body)),
  );
  expect(differences.some(({ difference }) => difference !== null)).toBe(true);
});

function withMembers(
  result: ScanResult,
  change: (
    member: Extract<ScanResult, { ok: true }>['members'][number],
  ) => Extract<ScanResult, { ok: true }>['members'][number],
): ScanResult {
  return result.ok ? { ok: true, members: result.members.map(change) } : result;
}
