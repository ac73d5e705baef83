// `npm run check:cluster -- install|faults|scale|network`: runs the steps of a part of parts.yaml
// on an existing cluster and writes .results/cluster-<part>.md. README.md lists the requirements.
// Exit 1: a step failed or is out of its bound; 3: the part was not run.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { parse } from 'yaml';
import { compareLedger, readCharges } from './load.mjs';
import { renderSteps, tally } from './results.mjs';
import { documented, here, pause, startShell } from './shell.mjs';

const REST_MS = 15_000;
const LEDGER_MS_MAX = 120_000;
const DIFFERENCES_SHOWN = 10;
const RESULTS = here('../../../.results/');
const LOAD = `${RESULTS}cluster-load.jsonl`;
const { functions, parts } = parse(readFileSync(here('parts.yaml'), 'utf8'));
const part = process.argv[2] ?? '';
if (!(part in parts)) {
  console.error(`usage: npm run check:cluster -- ${Object.keys(parts).join('|')} [--keep]`);
  process.exit(64);
}
mkdirSync(RESULTS, { recursive: true });
rmSync(LOAD, { force: true });
const { GATEWAY_CLUSTER_REGISTRY: registry = '', ...env } = process.env;
const startBash = async () => {
  const paste = startShell({ NEXT: 'next', LOAD, ...env, REGISTRY: registry });
  await paste(functions);
  return paste;
};
const paste = await startBash();
const missing = (await paste(`missing ${part}`)).trim();
if (missing !== '') {
  console.log(`check:cluster -- ${part} was not run: ${missing}`);
  process.exit(3);
}

const begunAt = Date.now();
const times = [];
const measured = [];
try {
  for (const { step, bound, expect, ...commands } of parts[part]) {
    console.log(`== ${step}`);
    const from = Date.now();
    let output = '';
    for (const block of blocksOf(commands)) output += await paste(block);
    if (!new RegExp(expect ?? '', 'm').test(output)) throw new Error(`${step}: ${expect} is not in the output`);
    times.push(`${step} ${Math.round((Date.now() - from) / 1000)} s`);
    if (bound === undefined) continue;
    await pause(REST_MS);
    // A killed edge ends its open streams.
    const open = [...output.matchAll(/^open (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
    measured.push({ name: step, from, to: Date.now(), bound: [bound[0], bound[1] + open] });
  }
  const minutes = Math.round((Date.now() - begunAt) / 60_000);
  const text = [`# check:cluster -- ${part}`, `${times.join(', ')}; ${minutes} minutes.`, ...(await judgeLoad())].join(
    '\n\n',
  );
  writeFileSync(`${RESULTS}cluster-${part}.md`, `${text}\n`);
  console.log(text);
} finally {
  if (!process.argv.includes('--keep')) await (await startBash())('removed');
}
process.exit();

/** Returns the blocks of a README's section, or one of them, or other commands. */
function blocksOf({ readme, block, options = '', run }) {
  if (run !== undefined) return [run];
  const blocks = documented(readme).filter((text) => !text.includes('npm run images'));
  return (block === undefined ? blocks : [blocks[block]]).map((text) =>
    text.replaceAll('image.registry=registry.example.com', `image.registry=${registry} ${options}`),
  );
}

/** Compares the steps with their bounds, and each complete response with the ledger. */
async function judgeLoad() {
  if (!existsSync(LOAD)) return [];
  // Leaves out lines of Node itself.
  const said = readFileSync(LOAD, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{'));
  const lines = said.map((line) => JSON.parse(line));
  const operator = {
    url: 'http://127.0.0.1:8082',
    token: (await paste('echo "$GATEWAY_OPERATOR_TOKEN"', () => {})).trim(),
  };
  let differences;
  for (const end = Date.now() + LEDGER_MS_MAX; ; await pause(REST_MS)) {
    differences = compareLedger(lines, await readCharges(operator, begunAt));
    if (differences.length === 0 || Date.now() > end) break;
  }
  if (differences.length > 0 || measured.some((step) => !tally(step, lines).isWithin)) process.exitCode = 1;
  const complete = lines.filter(({ problem }) => problem === null).length;
  const found = `${complete} complete responses; not once in the ledger with their amount: ${differences.length}`;
  return [renderSteps(measured, lines), [found, ...differences.slice(0, DIFFERENCES_SHOWN)].join('\n')];
}
