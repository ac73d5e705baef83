import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { LoadHookContext } from 'node:module';
import type { Mutation, Replacement } from './mutations.js';

type Loaded = { format: string; source?: string | undefined; shortCircuit?: boolean };

let mutation: Mutation | null = null;

/** Called by Node with the registered data. */
export function initialize(planted: Mutation): void {
  mutation = planted;
}

/** Loads a module of the services with the planted mistake in it. */
export async function load(
  url: string,
  context: LoadHookContext,
  next: (url: string, context: LoadHookContext) => Promise<Loaded>,
): Promise<Loaded> {
  const replacement = mutation === null ? undefined : listReplacements(mutation).find(({ file }) => url.endsWith(file));
  if (replacement === undefined) return next(url, context);
  return { format: 'module', source: plant(replacement, readFileSync(fileURLToPath(url), 'utf8')), shortCircuit: true };
}

/** Returns the replacements of a mutation, which are in different files. */
export function listReplacements({ also, ...mutation }: Mutation): Replacement[] {
  return also === undefined ? [mutation] : [mutation, also];
}

/** @throws Error unless the text to replace occurs exactly once */
export function plant({ file, from, to }: Replacement, text: string): string {
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`${file}: ${from} occurs ${parts.length - 1} times instead of once`);
  return parts.join(to);
}
