// `npm run chain -- heads | export | verify [--file EXPORT] [--anchors FILE]`: the hash chains of
// the ledger. `heads` prints the last block of each chain; store these lines elsewhere as the
// anchors of a later `verify`. `export` prints the chains with their transactions as JSON Lines.
// `verify` reads the database or an export and prints each broken link in chain order.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { ChainHead, ChainSource } from '../ledger/chain-rules.js';
import { verifyChain } from '../ledger/verify-chain.js';
import { formatChain, readChainFile, parseHeadLine } from './chain-file.js';
import { runCommand } from './run-command.js';

const EXIT_BROKEN = 1;
const EXIT_USAGE = 64;

const { values, positionals } = parseArgs({
  options: { file: { type: 'string' }, anchors: { type: 'string' } },
  allowPositionals: true,
});
const anchors = values.anchors === undefined ? [] : readAnchors(values.anchors);

switch (positionals[0]) {
  case 'heads':
    await onDatabase(async (source) => {
      for (const head of await source.heads())
        await print(JSON.stringify({ head: { ...head, number: String(head.number) } }));
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
    console.error('usage: chain heads | export | verify [--file EXPORT] [--anchors FILE]');
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

/** Waits for the reader of a pipe. */
function print(line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(`${line}\n`, (error) => (error == null ? resolve() : reject(error)));
  });
}
