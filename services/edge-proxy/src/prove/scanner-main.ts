import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { proveScanner, type Proof } from './prove-scanner.js';

/** A shorter run is printed, but does not replace the committed figures. */
const DOCUMENTS_COMMITTED = 10_000_000;
const PROGRESS_EVERY = 1_000_000;
const SEED_MAX = 2 ** 31;

const { values } = parseArgs({
  options: { documents: { type: 'string', default: String(DOCUMENTS_COMMITTED) }, seed: { type: 'string' } },
});
const documents = Number(values.documents);
const seed = values.seed === undefined ? randomInt(1, SEED_MAX) : Number(values.seed);
if (!Number.isSafeInteger(documents) || documents < 1 || !Number.isSafeInteger(seed)) {
  throw new RangeError('usage: prove:scanner [--documents N] [--seed N]');
}
console.log(`seed ${seed}, ${documents} documents`);
const proof = proveScanner(seed, documents, PROGRESS_EVERY, (done) => console.log(`${done} compared`));
if (proof.failure === null) {
  const report = reportOf(proof);
  if (documents >= DOCUMENTS_COMMITTED) {
    writeFileSync(fileURLToPath(new URL('../../prove/scanner.md', import.meta.url)), report);
  }
  console.log(report);
} else {
  const { index, difference, document } = proof.failure;
  console.error(`document ${index}: ${difference}\n${document.toString('base64')}`);
  process.exitCode = 1;
}

function reportOf({ seed: used, documents: compared, accepted, bytes, seconds }: Proof): string {
  const rows = [
    ['seed', String(used)],
    ['documents compared with JSON.parse', compared.toLocaleString('en')],
    ['read as an object by both', accepted.toLocaleString('en')],
    ['refused by both', (compared - accepted).toLocaleString('en')],
    ['differences', '0'],
    ['bytes', bytes.toLocaleString('en')],
    ['seconds', seconds.toFixed(0)],
    ['date', new Date().toISOString().slice(0, 10)],
    ['machine', `${cpus()[0]?.model.trim() ?? 'unknown'}, Node ${process.versions.node}`],
  ];
  return [
    '# The scanner against JSON.parse',
    '',
    'Written by `npm run prove:scanner`. Compared are: accepted or refused, names, values, kinds, and of documents that',
    'were made valid the place of every member.',
    '',
    ...rows.map(([name, value]) => `- ${name}: ${value}`),
    '',
  ].join('\n');
}
