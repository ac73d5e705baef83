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
 * The documents of everything that crosses a process boundary, by file name. An object with a name
 * stands in one of them, once, and others refer to it. They are committed under `generated/` and
 * compared in the test run, so that a changed message shows in the diff of a change.
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
 * Whoever names a schema first has it. What is sent to operators and pages is named there, not by
 * its message.
 */
const places = z.registry<{ id: string }>();
for (const { file, pointer, schemas } of [OPERATOR, PAGES, MESSAGES]) {
  for (const [name, schema] of Object.entries(schemas)) {
    if (!places.has(schema)) places.add(schema, { id: `${file}${pointer}${name}` });
  }
}
/** The wire form of each: what a sender may write. */
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
 * The body of each message by the message's name, and `<name>.answer`, after what messages are made
 * of.
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
