import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Hunted } from './hunt-main.js';
import { MUTATIONS } from './mutations.js';

const SEEDS_MAX = 500;
const HUNT = fileURLToPath(new URL('./hunt-main.js', import.meta.url));
const AT_ONCE = 2;

/** Prints, as the table of the README, how soon each planted mistake is found. @returns whether all were */
export async function findMutations(): Promise<boolean> {
  const rows = new Map<string, string>();
  let areAllFound = true;
  const waiting = [...MUTATIONS];
  const hunter = async (): Promise<void> => {
    for (let mutation = waiting.shift(); mutation !== undefined; mutation = waiting.shift()) {
      // One that cannot be planted any more, because its text has changed, is not found either.
      const { seeds, rule } = await hunt(mutation.name).catch(() => ({ seeds: 0, rule: null }));
      areAllFound &&= rule !== null;
      rows.set(mutation.name, `| ${mutation.name} | ${rule === null ? `not in ${seeds}` : seeds} | ${rule ?? ''} |`);
      console.error(rows.get(mutation.name));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, hunter));
  console.log('| Planted mistake | Found at seed | By the rule |\n| --- | --- | --- |');
  for (const { name } of MUTATIONS) console.log(rows.get(name));
  return areAllFound;
}

async function hunt(name: string): Promise<Hunted> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', HUNT, name, String(SEEDS_MAX)]);
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Hunted;
}
