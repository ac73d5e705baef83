import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { jsonSchemas } from './json-schemas.js';
import { positionsSource } from './packed-forms.js';

const directory = fileURLToPath(new URL('../generated', import.meta.url));
rmSync(directory, { recursive: true, force: true });
mkdirSync(directory);
for (const [name, text] of jsonSchemas()) writeFileSync(`${directory}/${name}`, text);
writeFileSync(fileURLToPath(new URL('../src/generated/positions.ts', import.meta.url)), positionsSource());
