import type { SourceHealthView } from '@gateway/contracts/operator';

/**
 * Models of which every source that some edge remembers failed when it was tried last, by whichever edge. A call tries all
 * sources before it fails, so a model with a source that works is not among them once it was called.
 */
export function failingModelsOf(entries: readonly SourceHealthView[]): ReadonlySet<string> {
  const newest = new Map<string, SourceHealthView>();
  for (const entry of entries) {
    const known = newest.get(entry.sourceId);
    if (known === undefined || (known.lastAttemptAt ?? '') < (entry.lastAttemptAt ?? ''))
      newest.set(entry.sourceId, entry);
  }
  const failing = new Set<string>();
  const working = new Set<string>();
  for (const { modelId, state, failuresInARow } of newest.values())
    (state !== 'healthy' || failuresInARow > 0 ? failing : working).add(modelId);
  for (const model of working) failing.delete(model);
  return failing;
}
