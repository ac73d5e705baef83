// `npm run compose:secrets`: the secret files that docker-compose.yml mounts, made once and kept.
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { composeSecrets, GIVEN_SECRETS, makeRoot } from './compose-secrets.js';

/**
 * Only its owner may enter the directory. The files are mounted one by one, and read by the users
 * of the containers.
 */
const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o644;
const ROOT_MODE = 0o600;

const [given, ...more] = process.argv.slice(2);
if (given?.startsWith('-') === true || more.length > 0) {
  console.error('compose:secrets takes one argument or none: the directory of the secret files (.compose)');
  process.exit(1);
}
const directory = given ?? fileURLToPath(new URL('../../../.compose', import.meta.url));
mkdirSync(directory, { recursive: true, mode: DIRECTORY_MODE });
chmodSync(directory, DIRECTORY_MODE);
const rootFile = `${directory}/root`;
const isNew = !existsSync(rootFile);
if (isNew) makeWhole('root', makeRoot(), ROOT_MODE);
const files = Object.entries(composeSecrets(readFileSync(rootFile, 'utf8').trim()));
for (const [name, text] of files) writeInPlace(name, text);
// Compose mounts a file that must be there.
for (const name of GIVEN_SECRETS) if (!existsSync(`${directory}/${name}`)) writeInPlace(name, '');
console.log(`${files.length} secret files ${isNew ? 'made' : 'written again from the kept root'} in ${directory}`);
console.log(`the operator's token is in ${directory}/operator-token`);

/**
 * Writes into the existing file: a container has that one mounted, and would not see another one.
 * A crash may leave half a text, which the next run mends. An equal file is not touched.
 */
function writeInPlace(name: string, text: string): void {
  const file = `${directory}/${name}`;
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text, { mode: FILE_MODE });
}

/**
 * Writes a new file and renames it: nothing can derive the root, so a crash must leave none of it
 * or all.
 */
function makeWhole(name: string, text: string, mode: number): void {
  writeFileSync(`${directory}/${name}.new`, text, { mode });
  renameSync(`${directory}/${name}.new`, `${directory}/${name}`);
}
