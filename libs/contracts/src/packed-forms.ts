import { z } from 'zod';
import { batchAnswer, holdFields, pricedVersion, releaseEntry, tokenUsage, usageEvent } from './messages/index.js';
import { admissionBatch, usageEvents } from './messages/index.js';

/** Schemas with their own pack and unpack functions. A schema follows those that it contains. */
const NAMED: readonly (readonly [name: string, schema: z.ZodType])[] = [
  ['TokenUsage', tokenUsage],
  ['PricedVersion', pricedVersion],
  ['HoldFields', holdFields],
  ['ReleaseEntry', releaseEntry],
  ['BatchAnswer', batchAnswer],
  ['UsageEvent', usageEvent],
];
/** Whole bodies. Their first position is the version. */
const BODIES: readonly (readonly [name: string, schema: z.ZodType])[] = [
  ['AdmissionBatch', admissionBatch.body],
  ['AdmissionBatchAnswer', admissionBatch.answer],
  ['UsageEvents', usageEvents.body],
];
const HEAD = `// Written by \`npm run generate\`: the positions of packed messages, in the order of their schemas' fields.
/* eslint-disable */
type Packed = any;
`;

/**
 * Generates the source of \`generated/positions.ts\`: for each packed form, a function that packs
 * an object into a list and one that unpacks it.
 *
 * Fields and enum values are numbered by their place in the schema, so both may only be added at
 * the end. An absent optional field is null, or omitted at the end of a list. Objects whose fields
 * are all optional, and objects whose names are data, keep their names. Unpacking does not
 * validate: invalid input becomes a value that the schema's check rejects.
 *
 * @throws Error for a schema that cannot be packed
 */
export function positionsSource(): string {
  const writer = new Writer();
  for (const [name, schema] of NAMED) writer.named(name, schema);
  for (const [name, schema] of BODIES) writer.body(name, schema);
  return writer.source();
}

type Shape = Readonly<Record<string, z.ZodType>>;

class Writer {
  readonly #names = new Map<z.ZodType, string>();
  readonly #tables = new Map<string, string>();
  readonly #functions: string[] = [];
  #variables = 0;

  named(name: string, schema: z.ZodType): void {
    this.#add(name, schema, this.#pack(schema, 'o'), this.#unpack(schema, 'a'));
    this.#names.set(schema, name);
  }

  body(name: string, schema: z.ZodType): void {
    const fields = Object.entries(shapeOf(schema));
    const packed = fields.map(([field, of]) => this.#pack(of, `o.${field}`));
    const read = fields.map(([field, of], index) => `${field}: ${this.#unpack(of, `a[${index + 1}]`)}`);
    this.#functions.push(
      `/** ${['version', ...fields.map(([field]) => field)].map((field, index) => `${index} ${field}`).join(', ')} */`,
      `export const pack${name} = (o: Packed, version: number): Packed => [version, ${packed.join(', ')}];`,
      `export const unpack${name} = (a: Packed): Packed => ({ ${read.join(', ')} });\n`,
    );
  }

  source(): string {
    return [HEAD, ...this.#tables.values(), '', ...this.#functions].join('\n');
  }

  #add(name: string, schema: z.ZodType, pack: string, unpack: string): void {
    this.#functions.push(
      `/** ${placesOf(schema)} */`,
      `export const pack${name} = (o: Packed): Packed => ${pack};`,
      `export const unpack${name} = (a: Packed): Packed => ${unpack};\n`,
    );
  }

  #pack(schema: z.ZodType, from: string): string {
    const name = this.#names.get(schema);
    if (name !== undefined) return `pack${name}(${from})`;
    if (schema instanceof z.ZodNullable) return this.#whereThere(from, this.#pack(inner(schema), from));
    if (schema instanceof z.ZodOptional) return `${from} === undefined ? null : ${this.#pack(inner(schema), from)}`;
    if (schema instanceof z.ZodBoolean) return `${from} ? 1 : 0`;
    if (schema instanceof z.ZodEnum) return `${this.#table(schema)}_AT.get(${from})`;
    if (schema instanceof z.ZodArray) return this.#each(schema, from, (item, one) => this.#pack(item, one));
    if (schema instanceof z.ZodDiscriminatedUnion) {
      const cases = formsOf(schema).map(({ tag, fields }, index) => {
        const packed = fields.map(([field, of]) => this.#pack(of, `${from}.${field}`));
        return `${from}.${schema.def.discriminator} === ${JSON.stringify(tag)} ? [${[index, ...packed].join(', ')}] :`;
      });
      return `${cases.join(' ')} null`;
    }
    if (!(schema instanceof z.ZodObject) || keepsNames(schema)) return from;
    const fields = Object.entries(shapeOf(schema));
    const packed = fields.map(([field, of]) => this.#pack(of, `${from}.${field}`));
    const [last, of] = fields.at(-1) ?? [];
    if (!(of instanceof z.ZodOptional)) return `[${packed.join(', ')}]`;
    return `(${from}.${last} === undefined ? [${packed.slice(0, -1).join(', ')}] : [${packed.join(', ')}])`;
  }

  #unpack(schema: z.ZodType, from: string): string {
    const name = this.#names.get(schema);
    if (name !== undefined) return `unpack${name}(${from})`;
    if (schema instanceof z.ZodNullable) return this.#whereThere(from, this.#unpack(inner(schema), from));
    if (schema instanceof z.ZodOptional) {
      return `${from} === null || ${from} === undefined ? undefined : ${this.#unpack(inner(schema), from)}`;
    }
    if (schema instanceof z.ZodBoolean) return `${from} === 1 ? true : ${from} === 0 ? false : null`;
    if (schema instanceof z.ZodEnum) return `${this.#table(schema)}[${from}]`;
    if (schema instanceof z.ZodArray) return this.#each(schema, from, (item, one) => this.#unpack(item, one));
    if (schema instanceof z.ZodDiscriminatedUnion) {
      const { discriminator } = schema.def;
      const cases = formsOf(schema).map(({ tag, fields }, index) => {
        const read = fields.map(([field, of], at) => `${field}: ${this.#unpack(of, `${from}[${at + 1}]`)}`);
        return `${from}[0] === ${index} ? { ${[`${discriminator}: ${JSON.stringify(tag)}`, ...read].join(', ')} } :`;
      });
      return `${cases.join(' ')} null`;
    }
    if (!(schema instanceof z.ZodObject) || keepsNames(schema)) return from;
    const read = Object.entries(shapeOf(schema)).map(
      ([field, of], index) => `${field}: ${this.#unpack(of, `${from}[${index}]`)}`,
    );
    return `({ ${read.join(', ')} })`;
  }

  /** Returns the value itself if packing does not change it. */
  #whereThere(from: string, then: string): string {
    return then === from ? from : `(${from} === null ? null : ${then})`;
  }

  #each(schema: z.ZodArray, from: string, make: (item: z.ZodType, one: string) => string): string {
    const one = `x${(this.#variables += 1)}`;
    const made = make(schema.element as z.ZodType, one);
    return made === one ? from : `${from}.map((${one}: Packed) => ${made})`;
  }

  #table({ options }: z.ZodEnum): string {
    const values = JSON.stringify(options);
    const name = `E${[...this.#tables.keys()].indexOf(values) + 1 || this.#tables.size + 1}`;
    this.#tables.set(
      values,
      `const ${name}: Packed = ${values};\nconst ${name}_AT: Packed = new Map(${name}.map((v: Packed, i: number) => [v, i]));`,
    );
    return name;
  }
}

const inner = (schema: z.ZodNullable | z.ZodOptional): z.ZodType => schema.unwrap() as z.ZodType;

function shapeOf(schema: z.ZodType): Shape {
  if (!(schema instanceof z.ZodObject)) throw new Error('only an object has positions');
  return schema.shape as Shape;
}

function keepsNames(schema: z.ZodObject): boolean {
  return Object.values(schema.shape as Shape).every((field) => field instanceof z.ZodOptional);
}

interface Form {
  readonly tag: unknown;
  readonly fields: readonly (readonly [string, z.ZodType])[];
}

/**
 * Returns the forms of a union with their discriminator values. The position of the form is sent
 * instead of the value.
 */
function formsOf(schema: z.ZodDiscriminatedUnion): Form[] {
  return schema.options.map((option) => {
    const { [schema.def.discriminator]: tag, ...fields } = shapeOf(option as z.ZodType);
    if (!(tag instanceof z.ZodLiteral)) throw new Error('a form of a union has no constant');
    return { tag: tag.value, fields: Object.entries(fields) };
  });
}

function placesOf(schema: z.ZodType): string {
  if (!(schema instanceof z.ZodDiscriminatedUnion)) {
    return Object.keys(shapeOf(schema))
      .map((field, index) => `${index} ${field}`)
      .join(', ');
  }
  const forms = formsOf(schema).map(
    ({ tag, fields }, index) =>
      `${index} ${String(tag)}: ${fields.map(([field], at) => `${at + 1} ${field}`).join(', ')}`,
  );
  return forms.join('; ');
}
