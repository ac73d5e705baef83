import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import type { ConfigDescription } from '@gateway/service-kit';
import { OTHER_VARIABLES, variablesRead } from '../test/other-variables.js';
import { PROGRAM_FIELDS } from '../test/service-fields.js';

const TABLE = new URL('../ENVIRONMENT.md', import.meta.url);

test('ENVIRONMENT.md matches the schemas (UPDATE_GOLDEN=1 rewrites it)', () => {
  const table = environmentTable();
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(TABLE, table);
  expect(readFileSync(TABLE, 'utf8')).toBe(table);
});

test('the second table lists exactly the variables that are read without a schema', () => {
  const ofSchemas = new Set(Object.values(PROGRAM_FIELDS).flatMap((fields) => fields.map(({ name }) => name)));
  // Each variable of a schema may name a file instead.
  const read = variablesRead().filter((name) => !ofSchemas.has(name) && !ofSchemas.has(name.replace(/_FILE$/, '')));
  const named = OTHER_VARIABLES.map(({ name }) => name).filter((name) => !ofSchemas.has(name));
  expect(named.sort()).toEqual(read.sort());
});

function environmentTable(): string {
  const programs = new Map<string, { field: ConfigDescription; readBy: string[] }>();
  for (const [program, fields] of Object.entries(PROGRAM_FIELDS)) {
    for (const field of fields) {
      const row = programs.get(`${field.name} ${field.doc}`) ?? { field, readBy: [] };
      row.readBy.push(program);
      programs.set(`${field.name} ${field.doc}`, row);
    }
  }
  const rows = [...programs.values()].sort((a, b) => (a.field.name < b.field.name ? -1 : 1));
  return [
    '# Environment',
    '',
    'Generated from the schemas by which the programs read it. A secret is read from `NAME`, or from the file that `NAME_FILE`',
    'names; a rotatable one also from `NAME_PREVIOUS` (or `NAME_PREVIOUS_FILE`) while the old one must still be accepted.',
    '',
    '| Variable | Default | What it is | Read by |',
    '| --- | --- | --- | --- |',
    ...rows.map(({ field, readBy }) =>
      [
        '',
        ` \`${field.name}\` `,
        ` ${defaultText(field)} `,
        ` ${field.doc}${field.rotatable ? ' (secret, rotatable)' : field.secret ? ' (secret)' : ''} `,
        ` ${readBy.length === Object.keys(PROGRAM_FIELDS).length - 1 && !readBy.includes('migrate') ? 'every service' : readBy.join(', ')} `,
        '',
      ].join('|'),
    ),
    '',
    'Variables that tools and scripts read without a schema. Those of tests and benchmarks are listed with them.',
    '',
    '| Variable | Default | What it is | Read by |',
    '| --- | --- | --- | --- |',
    ...OTHER_VARIABLES.map(({ name, or, doc, readBy }) => `| \`${name}\` | ${or} | ${doc} | ${readBy} |`),
    '',
  ].join('\n');
}

function defaultText(field: ConfigDescription): string {
  if (field.required) return '**required**';
  return field.default === null ? 'none' : `\`${field.default}\``;
}
