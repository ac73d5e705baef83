/** The parts of the OpenAPI document that the command line reads. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}
export interface Operation {
  /** A reference has neither name nor place. */
  readonly parameters: readonly { readonly name?: string; readonly in?: string }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
}
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

export interface MatchedOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

const METHOD_OF_VERB: Readonly<Record<string, string>> = {
  list: 'get',
  get: 'get',
  put: 'put',
  create: 'post',
  add: 'post',
  delete: 'delete',
};

/**
 * Finds the operation for words such as `keys rotate key_1`, `accounts list` or `members create
 * acc_1`: the fixed parts of a path (or the last ones), a verb for the method unless the path
 * contains it, then the IDs. Returns null if no operation matches.
 */
export function findOperation(document: OpenApi, words: readonly string[]): MatchedOperation | null {
  const found = Object.entries(document.paths).flatMap(([template, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const match = matches(template, method, 'get' in methods, words);
      return match === null ? [] : [{ ...match, method: method.toUpperCase(), operation }];
    }),
  );
  return found.sort((left, right) => left.missing - right.missing)[0] ?? null;
}

function matches(
  template: string,
  method: string,
  isCollection: boolean,
  words: readonly string[],
): { path: string; missing: number } | null {
  // A model ID is one word.
  const segments = template.replace('{publisher}/{model}', '{model}').split('/').slice(1);
  const isId = (segment: string): boolean => segment.startsWith('{');
  const fixed = segments.filter((segment) => !isId(segment));
  const ids = segments.filter(isId).length;
  const endsFixed = !isId(segments.at(-1) as string);
  const named = words.slice(0, words.length - ids);
  const verb = named.at(-1) ?? '';
  const fits = (names: readonly string[]): boolean =>
    names.length > 0 && fixed.slice(-names.length).join() === names.join();
  // `keys rotate`, `apply`: the path itself names the action, because nothing can be read there.
  const isAction = method === 'get' || (method === 'post' && !isCollection);
  const byVerb = METHOD_OF_VERB[verb] === method && (verb !== 'list' || endsFixed) && fits(named.slice(0, -1));
  if (!byVerb && !(isAction && fits(named))) return null;
  const missing = fixed.length - named.length + (byVerb ? 1 : 0);
  const values = words.slice(words.length - ids);
  let next = 0;
  const path = segments.map((segment) => (isId(segment) ? encodeURI(values[next++] as string) : segment));
  return { path: `/${path.join('/')}`, missing };
}

/** Converts a value to its field's type. String fields keep numbers as text. */
export function typedValue(document: OpenApi, schema: Schema | undefined, field: string, text: string): unknown {
  const own = field.split('.').reduce<Schema | undefined>((at, name) => propertyOf(document, at, name), schema);
  if (text === 'null' || !takesText(document, own)) {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return text;
    }
  }
  return text;
}

function propertyOf(document: OpenApi, schema: Schema | undefined, name: string): Schema | undefined {
  const found = alternatives(document, schema).map(({ properties }) => properties?.[name]);
  return found.find((property) => property !== undefined);
}

function takesText(document: OpenApi, schema: Schema | undefined): boolean {
  return alternatives(document, schema).some(({ type }) => [type].flat().includes('string'));
}

function alternatives(document: OpenApi, schema: Schema | undefined): readonly Schema[] {
  if (schema === undefined) return [];
  if (schema.$ref !== undefined) {
    return alternatives(document, document.components.schemas[schema.$ref.split('/').at(-1) as string]);
  }
  return schema.anyOf?.flatMap((one) => alternatives(document, one)) ?? [schema];
}
