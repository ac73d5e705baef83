import type { SeededRandom } from '@gateway/testkit/random';
import fc from 'fast-check';
import type { z } from 'zod';

export type JsonSchema = z.core.JSONSchema.JSONSchema;

/** Returns whether the value matches the schema. Does not use the library that the handlers use. */
export function isValid(schema: JsonSchema, value: unknown): boolean {
  if ('const' in schema && value !== schema.const) return false;
  if (schema.enum !== undefined && !(schema.enum as unknown[]).includes(value)) return false;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined && !choices.some((choice) => isValid(choice, value))) return false;
  const { type } = schema;
  return type === undefined || [type].flat().some((each) => isOfType(each, schema, value));
}

function isOfType(type: string, schema: JsonSchema, value: unknown): boolean {
  const { minimum = -Infinity, maximum = Infinity, minLength = 0, maxLength = Infinity, pattern = '' } = schema;
  const { items = {}, minItems = 0, maxItems = Infinity } = schema;
  const isWithin = (least: number, size: number, most: number): boolean => size >= least && size <= most;
  if (type === 'null' || value === null) return type === 'null' && value === null;
  if (type === 'boolean') return typeof value === 'boolean';
  if (type === 'number') return Number.isFinite(value) && isWithin(minimum, value as number, maximum);
  if (type === 'integer') return Number.isInteger(value) && isWithin(minimum, value as number, maximum);
  if (type === 'string')
    return typeof value === 'string' && isWithin(minLength, value.length, maxLength) && regexOf(pattern).test(value);
  if (type === 'array')
    return (
      Array.isArray(value) &&
      isWithin(minItems, value.length, maxItems) &&
      value.every((each) => isValid(items as JsonSchema, each))
    );
  if (type === 'object') return typeof value === 'object' && !Array.isArray(value) && isObject(schema, value);
  throw new TypeError(`unsupported type ${type}`);
}

function isObject(schema: JsonSchema, value: object): boolean {
  const { properties = {}, required = [], additionalProperties = true, propertyNames = {} } = schema;
  if (!required.every((name) => Object.hasOwn(value, name))) return false;
  return Object.entries(value).every(([name, each]) => {
    if (Object.hasOwn(properties, name)) return isValid(properties[name] as JsonSchema, each);
    if (typeof additionalProperties === 'boolean') return additionalProperties;
    // The handlers drop a member with this name and so do not check it.
    return name === '__proto__' || (isValid(additionalProperties, each) && isValid(propertyNames as JsonSchema, name));
  });
}

const regexes = new Map<string, RegExp>();

function regexOf(pattern: string): RegExp {
  const known = regexes.get(pattern) ?? new RegExp(pattern);
  regexes.set(pattern, known);
  return known;
}

/** Returns a value that the schema accepts. */
export function makeSample(schema: JsonSchema, random: SeededRandom): unknown {
  if ('const' in schema) return schema.const;
  if (schema.enum !== undefined) return random.pick(schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return makeSample(random.pick(choices), random);
  const { type } = schema;
  if (typeof type === 'object') return makeSample({ ...schema, type: random.pick(type) }, random);
  switch (type) {
    case 'null':
      return null;
    case 'boolean':
      return random.chance(0.5);
    case 'integer':
    case 'number':
      return sampleNumber(schema, random);
    case 'string':
      return sampleText(schema, random);
    case 'array': {
      const { items = {}, minItems = 0, maxItems = 3 } = schema;
      const length = Math.max(minItems, random.below(Math.min(3, maxItems) + 1));
      return Array.from({ length }, () => makeSample(items as JsonSchema, random));
    }
    case 'object':
      return sampleObject(schema, random);
    default:
      return random.pick([null, 1, 'x', {}, []]);
  }
}

function sampleNumber({ minimum = 0, maximum = 1_000 }: JsonSchema, random: SeededRandom): number {
  const draw = random.next();
  if (draw < 0.1) return minimum;
  if (draw < 0.2) return maximum;
  const low = Math.max(minimum, 0);
  return Math.min(maximum, low + random.below(random.pick([3, 1_000, 2_000_000_000])));
}

/** Number of sample texts per pattern. Finding them takes time, so they are reused. */
const TEXTS_PER_PATTERN = 12;
const texts = new Map<string, readonly string[]>();

/**
 * Returns texts that match a pattern. The sampler does not support lookahead, so the only pattern
 * with lookahead, for email addresses, has fixed texts.
 */
function textsOf(pattern: string): readonly string[] {
  const regex = regexOf(pattern);
  if (!pattern.includes('(?!') && !pattern.includes('(?='))
    return fc.sample(fc.stringMatching(regex), TEXTS_PER_PATTERN);
  const addresses = ["o'neil+list@mail.example.com", 'a@example.com'].filter((text) => regex.test(text));
  if (addresses.length === 0) throw new Error(`no text is known for the pattern ${pattern}`);
  return addresses;
}

function sampleText(schema: JsonSchema, random: SeededRandom): string {
  const { minLength = 0, maxLength = 40, pattern, format } = schema;
  if (pattern !== undefined) {
    const known = texts.get(pattern) ?? textsOf(pattern);
    texts.set(pattern, known);
    const fitting = known.filter(({ length }) => length >= minLength && length <= (schema.maxLength ?? Infinity));
    return random.pick(fitting.length === 0 ? known : fitting);
  }
  if (format === 'uri') return 'https://example.com/hook';
  const text = random.pick(['x', 'a name', '漢字', '0', '"\\']);
  return text.padEnd(minLength, 'x').slice(0, Math.max(minLength, maxLength));
}

function sampleObject(schema: JsonSchema, random: SeededRandom): Record<string, unknown> {
  const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
  const value: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(properties)) {
    if (required.includes(name) || random.chance(0.5)) value[name] = makeSample(inner as JsonSchema, random);
  }
  if (typeof additionalProperties === 'object') {
    for (let count = random.below(3); count > 0; count -= 1) {
      const added = String(makeSample((propertyNames ?? { type: 'string' }) as JsonSchema, random));
      value[added] = makeSample(additionalProperties, random);
    }
  }
  return value;
}
