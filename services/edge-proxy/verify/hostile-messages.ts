import type { SeededRandom } from '@gateway/testkit/random';
import { makeSample, type JsonSchema } from './json-schema.js';
import { mutate } from './random-cases.js';

/** Values that a mutation inserts or uses as a replacement. */
const VALUES: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, -0, 2 ** 53, -(2 ** 53), 9_000_000_000_000_001, 1e308],
  ...['', 'x', '../../etc/passwd', 'a b', '\u0000', '\ud800', 'x'.repeat(5_000)],
  ...[[], [null], {}, { v: 1 }, { length: 3 }, { toString: null }],
];
const NAMES = ['', ...'__proto__ constructor prototype toString v id kind extra 0'.split(' ')];
const SPLICES = [...'{}[]",:\\0-\0\ufeff\ud800', 'e9', 'null', '{"__proto__":{"a":1}}', '['.repeat(200)];

/** Returns a body of this schema, which may be mutated. */
export function makeHostileBody(schema: JsonSchema, random: SeededRandom): unknown {
  let value = makeSample(schema, random);
  for (let times = random.chance(0.2) ? 0 : 1 + random.below(3); times > 0; times -= 1) value = changed(value, random);
  return value;
}

/** Returns a packed body that may be mutated, or its damaged bytes. */
export function hostileListBytes(list: unknown, random: SeededRandom): Buffer {
  let value = list;
  for (let times = random.chance(0.3) ? 0 : 1 + random.below(3); times > 0; times -= 1) value = changed(value, random);
  return sometimesSpoilt(Buffer.from(JSON.stringify(value) ?? ''), random);
}

/** Returns the bytes of a message: a JSON object with its version, which may be damaged. */
export function hostileBytes(body: unknown, version: number, random: SeededRandom): Buffer {
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  const v = random.chance(0.95) ? version : random.pick([0, version + 1, '1', null, -1, 1e9]);
  const text = JSON.stringify(isObject && random.chance(0.98) ? { ...body, v } : body) ?? '';
  return sometimesSpoilt(Buffer.from(text), random);
}

function sometimesSpoilt(whole: Buffer, random: SeededRandom): Buffer {
  let bytes = whole;
  for (let times = random.chance(0.3) ? 1 + random.below(3) : 0; times > 0; times -= 1)
    bytes = mutate(random, bytes, { splices: SPLICES, spanMax: 10 });
  return bytes;
}

/** Returns the value with one entry changed, removed, duplicated or added. */
function changed(value: unknown, random: SeededRandom): unknown {
  if (Array.isArray(value)) return changedList(value, random);
  if (typeof value !== 'object' || value === null || random.chance(0.05)) return random.pick(VALUES);
  const entries = Object.entries(value);
  const at = random.below(entries.length + 1);
  const [name, inner] = entries[at] ?? [random.pick(NAMES), random.pick(VALUES)];
  const draw = random.next();
  if (draw < 0.2) entries.splice(at, 1);
  else if (draw < 0.3) entries[at] = [random.pick(NAMES), inner];
  else if (draw < 0.5) entries[at] = [name, random.pick(VALUES)];
  else entries[at] = [name, changed(inner, random)];
  // defineProperty creates an own member for any name, also `__proto__`.
  const result: object = {};
  for (const [own, each] of entries) {
    Object.defineProperty(result, own, { value: each, enumerable: true, configurable: true, writable: true });
  }
  return result;
}

function changedList(list: readonly unknown[], random: SeededRandom): unknown {
  const copy = [...list];
  const at = random.below(copy.length + 1);
  switch (random.below(4)) {
    case 0:
      copy.splice(at, 1);
      return copy;
    case 1:
      copy.splice(at, 0, random.pick(VALUES));
      return copy;
    case 2:
      return copy.length === 0
        ? random.pick(VALUES)
        : Array.from({ length: 300 }, (_, index) => copy[index % copy.length]);
    default:
      if (at < copy.length) copy[at] = changed(copy[at], random);
      return copy;
  }
}
