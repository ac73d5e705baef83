import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { LoadHookContext } from 'node:module';
import type { Change } from './mutations.js';

type Loaded = { format: string; source?: string | undefined; shortCircuit?: boolean };

let changes: readonly Change[] = [];

/** Called by Node with the registered data. */
export function initialize(planted: readonly Change[]): void {
  changes = planted;
}

/** Loads a module of the services with the planted mistake in it. */
export async function load(
  url: string,
  context: LoadHookContext,
  next: (url: string, context: LoadHookContext) => Promise<Loaded>,
): Promise<Loaded> {
  const change = changes.find(({ file }) => url.endsWith(file));
  if (change === undefined) return next(url, context);
  return { format: 'module', source: plant(change, readFileSync(fileURLToPath(url), 'utf8')), shortCircuit: true };
}

/** @throws Error unless the text to replace occurs exactly once */
export function plant({ file, from, to }: Change, text: string): string {
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`${file}: ${from} occurs ${parts.length - 1} times instead of once`);
  return parts.join(to);
}
