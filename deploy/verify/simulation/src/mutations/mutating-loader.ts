import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { LoadHookContext } from 'node:module';
import type { Mutation, Replacement } from './mutations.js';

type Loaded = { format: string; source?: string | undefined; shortCircuit?: boolean };

let mutation: Mutation | null = null;

/** Called by Node with what was registered. */
export function initialize(planted: Mutation): void {
  mutation = planted;
}

/** A module of the services with the planted mistake in it. */
export async function load(
  url: string,
  context: LoadHookContext,
  next: (url: string, context: LoadHookContext) => Promise<Loaded>,
): Promise<Loaded> {
  const replacement = mutation === null ? undefined : partsOf(mutation).find(({ file }) => url.endsWith(file));
  if (replacement === undefined) return next(url, context);
  return { format: 'module', source: plant(replacement, readFileSync(fileURLToPath(url), 'utf8')), shortCircuit: true };
}

/** What is replaced: in files that differ. */
export function partsOf({ also, ...mutation }: Mutation): Replacement[] {
  return also === undefined ? [mutation] : [mutation, also];
}

/** @throws Error unless the text to be replaced is there once */
export function plant({ file, from, to }: Replacement, text: string): string {
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`${file}: ${from} is there ${parts.length - 1} times`);
  return parts.join(to);
}
