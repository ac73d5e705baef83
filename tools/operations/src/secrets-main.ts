// `npm run -s secrets -- keys`: prints new key pairs for the credentials of sources and the secrets
// of webhooks, one variable per line. `npm run secrets -- compose [DIRECTORY]`: creates the secret
// files that docker-compose.yml mounts and keeps existing ones. Rewrites only the configuration of
// servers, from the passwords in the kept files.
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { composeSecrets, makeRoot, makeSealingKeys, OPERATOR_SECRETS, SERVER_FILES } from './compose-secrets.js';

/**
 * Only its owner may enter the directory. The files are mounted individually and read by the users
 * of the containers.
 */
const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o644;
const ROOT_MODE = 0o600;

const [purpose, given, ...more] = process.argv.slice(2);
if (purpose === 'keys' && given === undefined) {
  for (const [name, value] of Object.entries(makeSealingKeys())) console.log(`${name}=${value}`);
  process.exit();
}
if (purpose !== 'compose' || given?.startsWith('-') === true || more.length > 0) {
  console.error('usage: secrets keys | compose [DIRECTORY] (default: .compose)');
  process.exit(1);
}
const directory = given ?? fileURLToPath(new URL('../../../.compose', import.meta.url));
mkdirSync(directory, { recursive: true, mode: DIRECTORY_MODE });
chmodSync(directory, DIRECTORY_MODE);
const rootFile = `${directory}/root`;
if (!existsSync(rootFile)) writeAtomically('root', makeRoot(), ROOT_MODE);
const root = readFileSync(rootFile, 'utf8').trim();
const derived = composeSecrets(root);
const kept: Record<string, string> = {};
for (const name of Object.keys(derived)) {
  const text = existsSync(`${directory}/${name}`) ? readFileSync(`${directory}/${name}`, 'utf8') : '';
  // An empty file was not written completely.
  if (text.trim() !== '') kept[name] = text;
}
const files = Object.entries(composeSecrets(root, kept));
const missing = files.filter(([name]) => kept[name] === undefined);
for (const [name, text] of missing) writeAtomically(name, text, FILE_MODE);
// Rewritten in place, because containers have mounted these files.
const outdated = files.filter(([name, text]) => kept[name] !== undefined && kept[name] !== text);
for (const [name, text] of outdated) writeFileSync(`${directory}/${name}`, text);
// Creates empty files, because Compose can only mount existing ones.
for (const name of OPERATOR_SECRETS) if (!existsSync(`${directory}/${name}`)) writeAtomically(name, '', FILE_MODE);
console.log(`${missing.length} secret files created, ${files.length - missing.length} kept in ${directory}`);
const changed = Object.keys(kept).filter((name) => !SERVER_FILES.includes(name) && kept[name] !== derived[name]);
if (changed.length > 0) console.log(`kept, although the root secret gives another value: ${changed.join(', ')}`);
if (outdated.length > 0) console.log(`rewritten: ${outdated.map(([name]) => name).join(', ')}`);
console.log(`the operator's token is in ${directory}/operator-token`);

/** Writes a new file and renames it, so that a crash leaves no partial file. */
function writeAtomically(name: string, text: string, mode: number): void {
  writeFileSync(`${directory}/${name}.new`, text, { mode });
  renameSync(`${directory}/${name}.new`, `${directory}/${name}`);
}
