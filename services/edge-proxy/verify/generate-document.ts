import type { SeededRandom } from '@gateway/testkit/random';
import { mutate } from './random-cases.js';

const MEMBERS_MAX = 8;
const ELEMENTS_MAX = 3;
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

/** Returns a document. Seven in ten are valid; others are damaged, truncated or random tokens. */
export function generateDocument(random: SeededRandom): Buffer {
  const kind = random.below(100);
  if (kind >= 92) return Buffer.from(tokens(random));
  const text = kind >= 88 ? value(random, 0) : list(random, '{}', MEMBERS_MAX, 0);
  const whole: Buffer = Buffer.from(space(random) + text + space(random));
  if (kind >= 88 || kind < 55) return whole;
  if (kind < 60) return whole.subarray(0, random.below(whole.length + 1));
  let bytes = whole;
  for (let times = 1 + random.below(3); times > 0; times -= 1)
    bytes = mutate(random, bytes, { splices: SPLICES, encoding: 'latin1', spanMax: 3 });
  return bytes;
}

/** Returns an object or an array. @param brackets `{}` or `[]` */
function list(random: SeededRandom, brackets: string, countMax: number, depth: number): string {
  const items = Array.from({ length: random.below(countMax + 1) }, () => {
    const start = brackets === '{}' ? `${name(random)}${space(random)}:${space(random)}` : '';
    return space(random) + start + value(random, depth + 1) + space(random);
  });
  return brackets[0] + (items.length === 0 ? space(random) : items.join(',')) + brackets[1];
}

function value(random: SeededRandom, depth: number): string {
  const kind = random.below(depth >= DEPTH_MAX ? 6 : 10);
  if (kind < 3) return string(random);
  if (kind < 5) return random.pick(NUMBERS);
  if (kind < 6) return random.pick(WORDS);
  return list(random, kind < 8 ? '[]' : '{}', ELEMENTS_MAX, depth);
}

function name(random: SeededRandom): string {
  return random.chance(0.7) ? `"${random.pick(NAMES)}"` : string(random);
}

function string(random: SeededRandom): string {
  const count = random.below(random.chance(0.05) ? 60 : 8);
  const pieces = Array.from({ length: count }, () => random.pick(random.chance(0.25) ? ESCAPES : TEXT_PIECES));
  return `"${pieces.join('')}"`;
}

function space(random: SeededRandom): string {
  return random.pick(SPACES);
}

function tokens(random: SeededRandom): string {
  const start = random.chance(0.8) ? '{"x":' : '';
  const text = Array.from({ length: random.below(TOKENS_MAX + 1) }, () => random.pick(TOKENS)).join('');
  return start + text + (random.chance(0.5) ? '}' : '');
}
