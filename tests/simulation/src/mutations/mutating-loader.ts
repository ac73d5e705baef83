import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { LoadHookContext } from 'node:module';
import type { Change, Mutation } from './mutations.js';

type Loaded = { format: string; source?: string | undefined; shortCircuit?: boolean };

let changes: readonly Change[] = [];

/** Called by Node with the registered data. */
export function initialize(planted: Mutation): void {
  changes = listChanges(planted);
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

/** Returns the changes of a mutation, which are in different files. */
export function listChanges({ file, change, also }: Mutation): Change[] {
  return [{ file, change }, ...(also === undefined ? [] : [also])];
}

/** Splits a change into the text that it replaces and the new text. */
export function readChange({ change }: Change): { from: string; to: string } {
  const [, before = '', from = '', to = '', after = ''] = /^(.*)<<(.*) -> (.*)>>(.*)$/s.exec(change) ?? [];
  return { from: before + from + after, to: before + to + after };
}

/** @throws Error unless the text to replace occurs exactly once */
export function plant(planted: Change, text: string): string {
  const { from, to } = readChange(planted);
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`${planted.file}: ${from} occurs ${parts.length - 1} times instead of once`);
  return parts.join(to);
}
