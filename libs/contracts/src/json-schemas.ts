import { z } from 'zod';
import * as messages from './messages/index.js';
import * as operator from './operator/index.js';
import * as pages from './pages/index.js';
import { openApiDocument } from './public/index.js';

type Json = Record<string, unknown>;
type Named = Readonly<Record<string, z.ZodType>>;

const MESSAGES = { file: 'messages.schema.json', pointer: '#/$defs/', schemas: messageSchemas() };
const OPERATOR = { file: 'operator.openapi.json', pointer: '#/components/schemas/', schemas: exported(operator) };
const PAGES = { file: 'pages.openapi.json', pointer: '#/components/schemas/', schemas: exported(pages) };

/**
 * Returns the schema documents of all messages, APIs and pages, by file name. Each named object is
 * defined in one document, and the others refer to it. The documents are committed under
 * `generated/`, and a test compares them, so that a changed message appears in the diff.
 */
export function jsonSchemas(): ReadonlyMap<string, string> {
  const documents: Readonly<Record<string, Json>> = {
    [MESSAGES.file]: { $schema: 'https://json-schema.org/draft/2020-12/schema', $defs: definitionsOf(MESSAGES) },
    [OPERATOR.file]: openApi('Schemas of the operator API', definitionsOf(OPERATOR)),
    [PAGES.file]: openApi("Schemas of the dashboard's pages", definitionsOf(PAGES)),
    'public.openapi.json': openApiDocument(),
  };
  return new Map(
    Object.entries(documents).map(([file, document]) => [
      file,
      `${JSON.stringify(document, null, 2)}\n`.replaceAll(`"$ref": "${file}#`, '"$ref": "#'),
    ]),
  );
}

/**
 * The document of each schema. The first document that exports a schema defines it, so objects sent
 * to operators and pages are defined there and not in the messages.
 */
const places = z.registry<{ id: string }>();
for (const { file, pointer, schemas } of [OPERATOR, PAGES, MESSAGES]) {
  for (const [name, schema] of Object.entries(schemas)) {
    if (!places.has(schema)) places.add(schema, { id: `${file}${pointer}${name}` });
  }
}
/** JSON Schemas of the input form, which senders write. */
const { schemas: made } = z.toJSONSchema(places, { io: 'input', uri: (id) => id });

function definitionsOf({ file, pointer, schemas }: typeof MESSAGES): Json {
  const versions = new Map(messages.MESSAGES.map(({ name, version }) => [name, version]));
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => {
      const own = made[`${file}${pointer}${name}`];
      const { $schema: _dialect, $id: _id, ...definition } = own ?? { $ref: places.get(schema)?.id };
      const version = file === MESSAGES.file ? versions.get(name) : undefined;
      return [name, version === undefined ? definition : { ...definition, 'x-message-version': version }];
    }),
  );
}

/**
 * The exported parts of messages, then each message's body under its name and the response as
 * `<name>.answer`.
 */
function messageSchemas(): Named {
  const bodies = messages.MESSAGES.flatMap((message) => [
    [message.name, message.body] as const,
    ...(message.kind === 'request' ? [[`${message.name}.answer`, message.answer] as const] : []),
  ]);
  return { ...exported(messages), ...Object.fromEntries(bodies) };
}

function exported(module: object): Named {
  return Object.fromEntries(
    Object.entries(module).filter((entry): entry is [string, z.ZodType] => entry[1] instanceof z.ZodType),
  );
}

function openApi(title: string, schemas: Json): Json {
  return { openapi: '3.1.0', info: { title, version: '1.0.0' }, components: { schemas } };
}
