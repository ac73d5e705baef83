import { readFileSync } from 'node:fs';
import type { ProcessGroups } from '../machine/read-cpu.js';

/**
 * Returns an environment variable with which a gateway's process was started, or null if the
 * variable or the process does not exist. Addresses are found this way at every commit, even if its
 * code does not return them. @throws Error if the process has ended
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
