import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { jsonSchemas } from './json-schemas.js';
import { MESSAGES, SERVICE_NAMES } from './messages/index.js';

const directory = fileURLToPath(new URL('../generated', import.meta.url));
const schemas = jsonSchemas();

test('the committed JSON Schemas are those of the code (npm run schemas writes them)', () => {
  expect(readdirSync(directory).sort()).toEqual([...schemas.keys()].sort());
  for (const [name, text] of schemas)
    expect([name, readFileSync(`${directory}/${name}`, 'utf8')]).toEqual([name, text]);
});

test('every reference leads to an object of one of the documents', () => {
  for (const [file, text] of schemas) {
    const references = [...text.matchAll(/"\$ref": "([^"#]*)#\/([^"]+)"/g)];
    expect(references.length).toBeGreaterThan(20);
    for (const [, other, path = ''] of references) {
      const document: unknown = JSON.parse(schemas.get(other || file) ?? 'null');
      const target = path
        .split('/')
        .reduce<unknown>((holder, name) => (holder as Record<string, unknown>)[name], document);
      expect([other, path, typeof target]).toEqual([other, path, 'object']);
    }
  }
});

test('every message has its own name and subject, a sender and a server', () => {
  expect(new Set(MESSAGES.map((message) => message.name)).size).toBe(MESSAGES.length);
  expect(new Set(MESSAGES.map((message) => message.subject)).size).toBe(MESSAGES.length);
  for (const message of MESSAGES) {
    expect(message.sentBy.length).toBeGreaterThan(0);
    expect(message.servedBy.length).toBeGreaterThan(0);
    for (const service of [...message.sentBy, ...message.servedBy]) expect(SERVICE_NAMES).toContain(service);
  }
});
