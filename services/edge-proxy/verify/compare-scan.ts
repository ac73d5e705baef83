import { isDeepStrictEqual } from 'node:util';
import { scanObject, type Member, type ScanResult } from '../src/json/json-scanner.js';

export interface Comparison {
  /** Whether `JSON.parse` returns an object. */
  readonly accepted: boolean;
  /** A difference between the scanner and `JSON.parse`, or null. */
  readonly difference: string | null;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Checks that the scanner accepts exactly the documents that `JSON.parse` parses as an object, and
 * finds the same top-level members, which together with their separators are the whole document.
 */
export function compareScan(bytes: Buffer, scan: (body: Buffer) => ScanResult = scanObject): Comparison {
  const parsed = parse(() => decoder.decode(bytes));
  const scanned = scan(bytes);
  const accepted = kindOf(parsed) === 'object';
  if (accepted !== scanned.ok)
    return { accepted, difference: `the scanner ${scanned.ok ? 'accepts' : 'rejects'}, unlike JSON.parse` };
  return { accepted, difference: scanned.ok ? findDifference(bytes, scanned.members, parsed) : null };
}

function findDifference(bytes: Buffer, members: readonly Member[], parsed: unknown): string | null {
  const found: [name: string, value: unknown][] = [];
  let from = 0;
  for (const member of members) {
    const { name, nameStart, start, end } = member;
    const separator = bytes.toString('utf8', from, nameStart).trim();
    const span = bytes.toString('utf8', start, end);
    const value = parse(() => span);
    const whole = parse(() => `{${bytes.toString('utf8', nameStart, end)}}`);
    if (separator !== (from === 0 ? '{' : ',')) return `bytes before "${name}" belong to no member`;
    if (span !== span.trim()) return `the span of "${name}" has white space`;
    if (!isDeepStrictEqual(whole, Object.fromEntries([[name, value]]))) return `"${name}" has another name or value`;
    if (bytes.toString('latin1', nameStart, nameStart + 1) !== '"') return `"${name}" has white space before it`;
    if (!isDescribed(member, value)) return `"${name}" is of another kind`;
    found.push([name, value]);
    from = end;
  }
  if (from > 0 && bytes.toString('utf8', from).trim() !== '}') return 'bytes at the end belong to no member';
  return isDeepStrictEqual(Object.fromEntries(found), parsed) ? null : 'the members differ';
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

/** Returns undefined for a text that is not JSON. */
function parse(read: () => string): unknown {
  try {
    return JSON.parse(read()) as unknown;
  } catch {
    return undefined;
  }
}
