import { scanObject, type Member, type ScanResult } from '../src/json/json-scanner.js';
import type { GeneratedDocument } from './generate-document.js';

export interface Comparison {
  /** Whether `JSON.parse` returns an object. */
  readonly accepted: boolean;
  /** A difference between the scanner and `JSON.parse`, or null. */
  readonly difference: string | null;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const SPACE_BYTES: ReadonlySet<number | undefined> = new Set([0x20, 0x0a, 0x0d, 0x09]);

/**
 * Checks that the scanner accepts exactly the documents that `JSON.parse` parses as an object, and
 * finds the same top-level members: each span is the text of exactly one value, and the last value
 * of each name equals that of `JSON.parse`. Also compares the positions, if the generator knows
 * them.
 */
export function compareScan(
  { bytes, members }: GeneratedDocument,
  scan: (body: Buffer) => ScanResult = scanObject,
): Comparison {
  const parsed = parseObject(bytes);
  const scanned = scan(bytes);
  if (parsed === null) {
    if (members !== null)
      return { accepted: false, difference: 'JSON.parse rejects a document that was generated valid' };
    return { accepted: false, difference: scanned.ok ? 'the scanner accepts, JSON.parse rejects' : null };
  }
  if (!scanned.ok) return { accepted: true, difference: 'the scanner rejects, JSON.parse accepts' };
  const difference = compareMembers(bytes, scanned.members, parsed) ?? comparePlaces(scanned.members, members);
  return { accepted: true, difference };
}

function compareMembers(bytes: Buffer, members: readonly Member[], parsed: Record<string, unknown>): string | null {
  const last = new Map<string, unknown>();
  for (const member of members) {
    const { name, start, end } = member;
    if (SPACE_BYTES.has(bytes[start]) || SPACE_BYTES.has(bytes[end - 1]))
      return `the span of "${name}" has white space`;
    let value: unknown;
    try {
      value = JSON.parse(bytes.toString('utf8', start, end));
    } catch {
      return `the span of "${name}" is no value`;
    }
    if (!isDescribed(member, value)) return `"${name}" is of another kind`;
    last.set(name, value);
  }
  const names = Object.keys(parsed);
  if (names.length !== last.size) return 'the names differ';
  return names.every((name) => last.has(name) && isSame(last.get(name), parsed[name])) ? null : 'the values differ';
}

function comparePlaces(members: readonly Member[], written: GeneratedDocument['members']): string | null {
  if (written === null) return null;
  if (written.length !== members.length) return 'the number of members differs';
  for (const [index, { nameStart, start, end }] of written.entries()) {
    const found = members[index];
    if (found?.nameStart !== nameStart || found.start !== start || found.end !== end) return 'a position differs';
  }
  return null;
}

/** Returns whether kind, number of elements and `onlyObjects` match the value. */
function isDescribed({ kind, elements, onlyObjects }: Member, value: unknown): boolean {
  if (!Array.isArray(value)) return kind === kindOf(value) && elements === 0 && !onlyObjects;
  return (
    kind === 'array' && elements === value.length && onlyObjects === value.every((each) => kindOf(each) === 'object')
  );
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function parseObject(bytes: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(decoder.decode(bytes));
    return kindOf(value) === 'object' ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every(
    (name) =>
      Object.hasOwn(other, name) &&
      isSame((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name]),
  );
}
