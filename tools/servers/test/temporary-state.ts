import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TemporaryState {
  /** Creates a directory whose name has a space. */
  make(): Promise<string>;
  removeAll(): Promise<void>;
}

/** Creates the directories of one test file. */
export function temporaryState(): TemporaryState {
  const made: string[] = [];
  return {
    async make() {
      const directory = await mkdtemp(join(tmpdir(), 'gateway servers '));
      made.push(directory);
      return directory;
    },
    async removeAll() {
      for (const directory of made.splice(0)) await rm(directory, { recursive: true, force: true });
    },
  };
}
