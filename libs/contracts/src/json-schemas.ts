import { z } from 'zod';
import { MESSAGES } from './messages/index.js';
import * as operatorSchemas from './operator/index.js';
import * as pageSchemas from './pages/index.js';
import * as publicSchemas from './public/index.js';

/**
 * The JSON Schemas of everything that crosses a process boundary, by file name. They are committed under `generated/`
 * and compared in the test run, so that a changed message shows in the diff of a change.
 */
export function jsonSchemas(): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const message of MESSAGES) {
    files.set(`messages/${message.name}.json`, text(withVersion(schemaOf(message.body), message.version)));
    if (message.kind === 'request') files.set(`messages/${message.name}.answer.json`, text(schemaOf(message.answer)));
  }
  const folders = { operator: operatorSchemas, pages: pageSchemas, public: publicSchemas };
  for (const [folder, schemas] of Object.entries(folders)) {
    for (const [name, schema] of Object.entries(schemas)) {
      if (schema instanceof z.ZodType) files.set(`${folder}/${name}.json`, text(schemaOf(schema)));
    }
  }
  files.set('public/openapi.json', text(publicSchemas.openApiDocument()));
  return files;
}

/** The wire form of a schema: what a sender may write. */
function schemaOf(schema: z.ZodType): Record<string, unknown> {
  return z.toJSONSchema(schema, { io: 'input' });
}

function withVersion(schema: Record<string, unknown>, version: number): Record<string, unknown> {
  return { ...schema, 'x-message-version': version };
}

function text(schema: Record<string, unknown>): string {
  return `${JSON.stringify(schema, null, 2)}\n`;
}
