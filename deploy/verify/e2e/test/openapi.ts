import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';

interface OpenApiDocument {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, { content?: object }>> }>>>
  >;
}

/** Says what in an answer is not as the document has it; null when nothing is. */
export type CheckAnswer = (method: string, path: string, status: number, body: unknown) => string | null;

/**
 * A check of answers against an OpenAPI 3.1 document. Paths that the document does not have are not
 * checked.
 */
export function answersOf(document: OpenApiDocument): CheckAnswer {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
  ajv.addSchema(document as object, 'api');
  const compiled = new Map<string, ValidateFunction>();
  const templates = Object.keys(document.paths)
    .map((template) => ({ template, pattern: patternOf(template) }))
    // A path without a parameter goes before one with.
    .sort((one, other) => one.template.split('{').length - other.template.split('{').length);
  return (method, path, status, body) => {
    const bare = path.split('?')[0] ?? '';
    const found = templates.find(({ pattern }) => pattern.test(bare));
    if (found === undefined) return null;
    const operation = document.paths[found.template]?.[method.toLowerCase()];
    if (operation === undefined) return status === 404 ? null : `${method} ${found.template} is not in the document`;
    const response = operation.responses[String(status)];
    if (response === undefined) return `${method} ${found.template}: status ${status} is not in the document`;
    if (response.content === undefined) return body === null ? null : 'a body where the document has none';
    const pointer = ['paths', found.template, method.toLowerCase(), 'responses', String(status), 'content']
      .concat('application/json', 'schema')
      .map((word) => encodeURIComponent(word.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/');
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `api#/${pointer}` });
    compiled.set(pointer, validate);
    return validate(body) ? null : ajv.errorsText(validate.errors);
  };
}

/** A template's last parameter takes slashes too where a model id stands. */
function patternOf(template: string): RegExp {
  const text = template
    .replace(/^\/operator\/v1/, '')
    .replace(/\{model\}/, '.+')
    .replace(/\{[^}]+\}/g, '[^/]+');
  return new RegExp(`^${text}$`);
}
