import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { jsonSchemas } from './json-schemas.js';

const directory = fileURLToPath(new URL('../generated', import.meta.url));
rmSync(directory, { recursive: true, force: true });
for (const [name, text] of jsonSchemas()) {
  mkdirSync(dirname(`${directory}/${name}`), { recursive: true });
  writeFileSync(`${directory}/${name}`, text);
}
