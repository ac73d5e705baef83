// `npm run chain -- heads [--append FILE] | export | verify [--file EXPORT] [--anchors FILE]`: the
// hash chains of the ledger. `heads` prints the last block of each chain; store these lines
// elsewhere as the anchors of a later `verify`. `--append` also appends them to a file and records
// the run. `export` prints the chains with their transactions as JSON Lines.
// `verify` reads the database or an export and prints each broken link in chain order.
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { ChainHead, ChainSource } from '../ledger/chain-rules.js';
import { verifyChain } from '../ledger/verify-chain.js';
import { formatChain, readChainFile, parseHeadLine } from './chain-file.js';
import { runCommand } from './run-command.js';

const EXIT_BROKEN = 1;
const EXIT_USAGE = 64;
const PRIVATE_MODE = 0o600;

const { values, positionals } = parseArgs({
  options: { file: { type: 'string' }, anchors: { type: 'string' }, append: { type: 'string' } },
  allowPositionals: true,
});
const anchors = values.anchors === undefined ? [] : readAnchors(values.anchors);

switch (positionals[0]) {
  case 'heads':
    await runCommand(async ({ reader, record }) => {
      const heads = await reader.snapshot(({ chain }) => chain.heads());
      const lines = heads.map((head) => JSON.stringify({ head: { ...head, number: String(head.number) } }));
      for (const line of lines) await print(line);
      if (values.append === undefined) return 0;
      append(values.append, lines.map((line) => `${line}\n`).join(''));
      const blocks = heads.reduce((sum, { number }) => sum + number, 0n);
      await record({ job: 'chain-heads', outcome: 'succeeded', figures: `${heads.length} chains, ${blocks} blocks` });
      return 0;
    });
    break;
  case 'export':
    await onDatabase(async (source) => {
      for await (const line of formatChain(source)) await print(line);
      return 0;
    });
    break;
  case 'verify':
    if (values.file === undefined) await onDatabase(verify);
    else process.exitCode = await verify(readChainFile(values.file));
    break;
  default:
    console.error('usage: chain heads [--append FILE] | export | verify [--file EXPORT] [--anchors FILE]');
    process.exitCode = EXIT_USAGE;
}

async function verify(source: ChainSource): Promise<number> {
  let broken = 0;
  const { blocks, transactions } = await verifyChain(source, {
    anchors,
    broken({ chain, block, transaction, problem }) {
      broken += 1;
      console.log(
        `chain ${chain}, block ${block}${transaction === null ? '' : `, transaction ${transaction}`}: ${problem}`,
      );
    },
  });
  console.log(`${broken} broken links; ${transactions} ledger transactions in ${blocks} blocks were checked`);
  return broken === 0 ? 0 : EXIT_BROKEN;
}

function onDatabase(work: (source: ChainSource) => Promise<number>): Promise<void> {
  return runCommand(({ reader }) => reader.snapshot(({ chain }) => work(chain)));
}

function readAnchors(path: string): ChainHead[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map(parseHeadLine);
}

/** Appends a text and returns when it is on the disk. */
function append(path: string, text: string): void {
  const descriptor = openSync(path, 'a', PRIVATE_MODE);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Waits for the reader of a pipe. */
function print(line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(`${line}\n`, (error) => (error == null ? resolve() : reject(error)));
  });
}
