import type { SeededRandom } from '@gateway/testkit/random';
import Ajv, { type ValidateFunction } from 'ajv';
import fc from 'fast-check';
import type { z } from 'zod';

export type JsonSchema = z.core.JSONSchema.JSONSchema;

/** Texts are measured like the handlers do, in UTF-16 units. Formats have patterns in addition. */
const ajv = new Ajv({ unicode: false, format: false });
const validators = new Map<JsonSchema, ValidateFunction>();

/** Returns whether the value matches the schema. Does not use the library that the handlers use. */
export function isValid(schema: JsonSchema, value: unknown): boolean {
  const validate = validators.get(schema) ?? ajv.compile(schema);
  validators.set(schema, validate);
  return validate(value) === true;
}

/** Samples per schema, and texts per pattern. Finding them takes time, so they are reused. */
const SAMPLES = 60;
const TEXTS_PER_PATTERN = 12;
const samples = new Map<JsonSchema, readonly unknown[]>();
const texts = new Map<string, readonly string[]>();

/** Returns a value that the schema accepts. */
export function makeSample(schema: JsonSchema, random: SeededRandom): unknown {
  const known = samples.get(schema) ?? fc.sample(valuesOf(schema), SAMPLES);
  samples.set(schema, known);
  return random.pick(known);
}

function valuesOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...(schema.enum as unknown[]));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => valuesOf(choice as JsonSchema)));
  const { type, minimum = 0, maximum = Math.max(minimum, 1_000), minItems = 0, maxItems = 3 } = schema;
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'number':
      return fc.integer({ min: Math.ceil(minimum), max: Math.floor(maximum) });
    case 'string':
      return textsOf(schema);
    case 'array':
      return fc.array(valuesOf((schema.items ?? {}) as JsonSchema), {
        minLength: minItems,
        maxLength: Math.max(minItems, Math.min(3, maxItems)),
      });
    case 'object':
      return objectsOf(schema);
    default:
      return typeof type === 'object'
        ? fc.oneof(...type.map((each) => valuesOf({ ...schema, type: each })))
        : fc.constantFrom(null, 1, 'x', {}, []);
  }
}

function objectsOf({ properties = {}, required = [], additionalProperties, propertyNames }: JsonSchema) {
  const fields = Object.entries(properties).map(([name, inner]) => [name, valuesOf(inner as JsonSchema)]);
  const shape: Record<string, fc.Arbitrary<unknown>> = Object.fromEntries(fields);
  const known = fc.record(shape, { requiredKeys: required, noNullPrototype: true });
  if (typeof additionalProperties !== 'object') return known;
  const names = textsOf((propertyNames ?? {}) as JsonSchema);
  const others = fc.dictionary(names, valuesOf(additionalProperties), { maxKeys: 2, noNullPrototype: true });
  return fc.tuple(known, others).map(([one, other]) => ({ ...other, ...one }));
}

function textsOf({ minLength = 0, maxLength = Infinity, pattern, format }: JsonSchema): fc.Arbitrary<string> {
  if (pattern !== undefined) {
    const known = texts.get(pattern) ?? findTexts(pattern);
    texts.set(pattern, known);
    const fitting = known.filter(({ length }) => length >= minLength && length <= maxLength);
    return fc.constantFrom(...(fitting.length === 0 ? known : fitting));
  }
  if (format === 'uri') return fc.constant('https://example.com/hook');
  return fc
    .constantFrom('x', 'a name', '漢字', '0', '"\\')
    .map((text) => text.padEnd(minLength, 'x').slice(0, Math.max(minLength, maxLength)));
}

/**
 * Returns texts that match a pattern. The sampler does not support lookahead, so the only pattern
 * with lookahead, for email addresses, has fixed texts.
 */
function findTexts(pattern: string): readonly string[] {
  const regex = new RegExp(pattern);
  if (!/\(\?[!=]/.test(pattern)) return fc.sample(fc.stringMatching(regex), TEXTS_PER_PATTERN);
  const addresses = ["o'neil+list@mail.example.com", 'a@example.com'].filter((text) => regex.test(text));
  if (addresses.length === 0) throw new Error(`no text is known for the pattern ${pattern}`);
  return addresses;
}
