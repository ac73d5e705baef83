import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TemporaryDirectory {
  readonly path: string;
  remove(): void;
}

/** Creates a directory for the servers and files of a test. */
export function temporaryDirectory(name: string): TemporaryDirectory {
  const path = mkdtempSync(join(tmpdir(), `gateway-${name}-`));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
