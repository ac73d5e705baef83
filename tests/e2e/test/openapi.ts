import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';

interface Response {
  readonly $ref?: string;
  readonly content?: object;
}
interface OpenApiDocument {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Response>> }>>>
  >;
  readonly components?: { readonly responses?: Readonly<Record<string, Response>> };
}

/** Describes how a response differs from the document. Null if it matches. */
export type CheckResponse = (method: string, path: string, status: number, body: unknown) => string | null;

/**
 * Returns a function that checks responses against an OpenAPI 3.1 document. It skips paths that are
 * not in the document.
 */
export function createResponseCheck(document: OpenApiDocument): CheckResponse {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
  ajv.addSchema(document as object, 'api');
  const compiled = new Map<string, ValidateFunction>();
  const templates = Object.keys(document.paths)
    .map((template) => ({ template, pattern: patternOf(template) }))
    // Paths without parameters have priority over paths with parameters.
    .sort((one, other) => one.template.split('{').length - other.template.split('{').length);
  return (method, path, status, body) => {
    const bare = path.split('?')[0] ?? '';
    const found = templates.find(({ pattern }) => pattern.test(bare));
    if (found === undefined) return null;
    const operation = document.paths[found.template]?.[method.toLowerCase()];
    if (operation === undefined) return status === 404 ? null : `${method} ${found.template} is not in the document`;
    const declared = operation.responses[String(status)];
    const shared = declared?.$ref?.split('/').slice(1);
    const response = shared === undefined ? declared : document.components?.responses?.[shared.at(-1) ?? ''];
    if (response === undefined) return `${method} ${found.template}: status ${status} is not in the document`;
    if (response.content === undefined)
      return body === null ? null : 'the response has a body but the document has none';
    const place = shared ?? ['paths', found.template, method.toLowerCase(), 'responses', String(status)];
    const pointer = [...place, 'content', 'application/json', 'schema']
      .map((word) => encodeURIComponent(word.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/');
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `api#/${pointer}` });
    compiled.set(pointer, validate);
    return validate(body) ? null : ajv.errorsText(validate.errors);
  };
}

/** A `{model}` parameter also matches slashes, because model IDs contain them. */
function patternOf(template: string): RegExp {
  const text = template
    .replace(/^\/operator\/v1/, '')
    .replace(/\{model\}/, '.+')
    .replace(/\{[^}]+\}/g, '[^/]+');
  return new RegExp(`^${text}$`);
}
