import type { SeededRandom } from '@gateway/testkit/random';
import { mutate } from './random-cases.js';

/** Position of a top-level member as the generator wrote it, independent of any parser. */
export interface WrittenMember {
  readonly nameStart: number;
  readonly start: number;
  readonly end: number;
}

export interface GeneratedDocument {
  readonly bytes: Buffer;
  /** The members of a valid document. Null if it was damaged or may not be an object. */
  readonly members: readonly WrittenMember[] | null;
}

const MEMBERS_MAX = 8;
const DEPTH_MAX = 4;
const TOKENS_MAX = 14;

const SPACES = ['', '', '', '', ' ', '\n', '\t', '\r\n', '  '] as const;
const NAMES = ['', ...'model stream messages n a __proto__ constructor 1 名 mod\\u0065l'.split(' ')];
const TEXT_PIECES = [...'aB 0{}[]:,/é名😀\u007f\u2028'];
const ESCAPES = '\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u0000 \\u00e9 \\ud83d\\ude00 \\ud800 \\uDFFF \\uABCD'.split(' ');
const NUMBERS = '0 -0 1 -1 12345678901234567890 0.5 -0.0 1e5 1E+5 2e-7 1.5e308 1e999 9007199254740993'.split(' ');
const WORDS = ['true', 'false', 'null'] as const;
/** Bytes that are inserted: JSON syntax, control characters, and invalid UTF-8. */
const SPLICES = [...'{}[]":,\\/ \n\t0123-+.eEutfn/*\'x\u0000\u001f\x80\xc0\xe2\xed\xff\xef'];
const TOKENS = [
  ...[' ', ...'{ } [ ] : , " "a" "a": "" \n \\ \\u "\\u12 1 01 - 1. .5 1e true tru null NaN Infinity'.split(' ')],
  ...['\ufeff', '//', '/*', "'a'", '\u00a0', '\u000b', '+1', '0x1'],
];

/** Seven in ten documents are valid; the others are damaged, truncated or random tokens. */
export function generateDocument(random: SeededRandom): GeneratedDocument {
  const kind = random.below(100);
  if (kind >= 92) return { bytes: Buffer.from(tokens(random)), members: null };
  if (kind >= 88) return { bytes: Buffer.from(space(random) + value(random, 0) + space(random)), members: null };
  const whole = object(random);
  if (kind < 55) return whole;
  if (kind < 60) return { bytes: whole.bytes.subarray(0, random.below(whole.bytes.length + 1)), members: null };
  let bytes = whole.bytes;
  for (let times = 1 + random.below(3); times > 0; times -= 1)
    bytes = mutate(random, bytes, { splices: SPLICES, encoding: 'latin1', spanMax: 3 });
  return { bytes, members: null };
}

/** Returns a top-level object with the positions of its members. */
function object(random: SeededRandom): GeneratedDocument {
  const members: WrittenMember[] = [];
  let text = `${space(random)}{${space(random)}`;
  let bytes = Buffer.byteLength(text);
  const add = (piece: string): number => {
    text += piece;
    bytes += Buffer.byteLength(piece);
    return bytes;
  };
  const count = random.below(MEMBERS_MAX + 1);
  for (let i = 0; i < count; i += 1) {
    const nameStart = i === 0 ? bytes : add(`,${space(random)}`);
    add(name(random));
    const start = add(`${space(random)}:${space(random)}`);
    const end = add(value(random, 1));
    add(space(random));
    members.push({ nameStart, start, end });
  }
  add(`}${space(random)}`);
  return { bytes: Buffer.from(text), members };
}

function value(random: SeededRandom, depth: number): string {
  const kind = random.below(depth >= DEPTH_MAX ? 6 : 10);
  if (kind < 3) return string(random);
  if (kind < 5) return random.pick(NUMBERS);
  if (kind < 6) return random.pick(WORDS);
  const count = random.below(4);
  const isArray = kind < 8;
  let text = (isArray ? '[' : '{') + space(random);
  for (let i = 0; i < count; i += 1) {
    if (i > 0) text += `,${space(random)}`;
    if (!isArray) text += `${name(random)}${space(random)}:${space(random)}`;
    text += value(random, depth + 1) + space(random);
  }
  return text + (isArray ? ']' : '}');
}

function name(random: SeededRandom): string {
  return random.chance(0.7) ? `"${random.pick(NAMES)}"` : string(random);
}

function string(random: SeededRandom): string {
  let text = '"';
  const count = random.below(random.chance(0.05) ? 60 : 8);
  for (let i = 0; i < count; i += 1) text += random.chance(0.25) ? random.pick(ESCAPES) : random.pick(TEXT_PIECES);
  return `${text}"`;
}

function space(random: SeededRandom): string {
  return random.pick(SPACES);
}

function tokens(random: SeededRandom): string {
  let text = random.chance(0.8) ? '{"x":' : '';
  const count = random.below(TOKENS_MAX + 1);
  for (let i = 0; i < count; i += 1) text += random.pick(TOKENS);
  return random.chance(0.5) ? `${text}}` : text;
}
