import { readFileSync } from 'node:fs';
import type { ProcessGroups } from '../machine/read-cpu.js';

/**
 * A variable of the environment with which a gateway's process was started: so addresses are found
 * at every commit, also at those that hand none out. Null: it has none, or no such process. @throws
 * Error when the process has ended
 */
export function variableOf(groups: ProcessGroups, process: string, variable: string): string | null {
  const pid = groups[process]?.[0];
  if (pid === undefined) return null;
  const prefix = `${variable}=`;
  const entry = readFileSync(`/proc/${pid}/environ`, 'utf8')
    .split('\0')
    .find((text) => text.startsWith(prefix));
  return entry?.slice(prefix.length) ?? null;
}
