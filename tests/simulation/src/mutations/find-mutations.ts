import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { SearchResult } from './hunt-main.js';
import { MUTATIONS, SEEDS_MAX, type Mutation } from './mutations.js';

const HUNT = fileURLToPath(new URL('./hunt-main.js', import.meta.url));
const AT_ONCE = 2;

/**
 * Prints how soon each planted mistake is found, as the table of the README. @returns whether all
 * results are as `mutations.ts` expects
 */
export async function findMutations(): Promise<boolean> {
  const rows = new Map<Mutation, string>();
  let isAsSaid = true;
  const waiting = [...MUTATIONS];
  const hunter = async (): Promise<void> => {
    for (let mutation = waiting.shift(); mutation !== undefined; mutation = waiting.shift()) {
      // A mutation that can no longer be planted because its text has changed counts as unexpected.
      const { seeds, rule } = await hunt(mutation).catch(() => ({ seeds: 0, rule: null }));
      isAsSaid &&= seeds > 0 && (rule === null) === (mutation.unseen !== undefined);
      rows.set(mutation, rowOf(mutation, { seeds, rule }));
      console.error(rows.get(mutation));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, hunter));
  console.log('| Planted mistake | Found at seed | By the rule |\n| --- | --- | --- |');
  for (const mutation of MUTATIONS) console.log(rows.get(mutation));
  return isAsSaid;
}

function rowOf({ name, unseen }: Mutation, { seeds, rule }: SearchResult): string {
  const found = rule === null ? `not in ${seeds}` : seeds;
  return linked(`| ${name} | ${found} | ${rule ?? unseen ?? ''} |`);
}

/** Replaces protocol citations by links for the README. */
function linked(row: string): string {
  return row.replaceAll(/docs\/protocol\.md#(r\d+)/g, '[$1](../../$&)');
}

async function hunt({ name, seedsMax = SEEDS_MAX }: Mutation): Promise<SearchResult> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', HUNT, name, String(seedsMax)]);
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as SearchResult;
}
