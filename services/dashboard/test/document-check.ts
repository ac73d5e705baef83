import { expect } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { OperatorRoute } from '../src/operator-api/route.js';
import type { Answer } from './operator-world.js';

interface Response {
  content?: Record<string, { schema: object }>;
}
interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Response | { $ref: string }> }>>;
  components: { schemas: object; responses: Record<string, Response> };
}

/**
 * Checks a response against the schema that the OpenAPI document declares for its route and status.
 */
export function makeDocumentCheck(served: object): (route: OperatorRoute, answer: Answer) => void {
  const document = served as Document;
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema({ $id: 'operator', components: document.components });
  return (route, answer) => {
    const operation = document.paths[route.path]?.[route.method.toLowerCase()];
    const declared = operation?.responses[String(answer.status)];
    const response =
      declared && '$ref' in declared
        ? document.components.responses[declared.$ref.replace('#/components/responses/', '')]
        : declared;
    if (response === undefined) throw new Error(`${route.id}: the document has no ${answer.status}`);
    const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
    if (response.content === undefined) {
      expect(answer.text).toBe('');
      return;
    }
    const schema = response.content[type]?.schema;
    if (schema === undefined) throw new Error(`${route.id}: the document has no ${type}`);
    if (type !== 'application/json') return;
    const here = JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"operator#/components/')) as object;
    const validate = ajv.compile(here);
    validate(answer.body);
    expect(validate.errors ?? []).toEqual([]);
  };
}
