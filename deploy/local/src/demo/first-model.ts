import type { ModelView, SourceView } from '@gateway/contracts/operator';

/** Catalog data of one demo model; null if an operator deleted it. */
export interface DemoModelNow {
  readonly model: Pick<ModelView, 'id' | 'kind' | 'active' | 'available' | 'prices'> | null;
  readonly sources: readonly Pick<SourceView, 'enabled' | 'baseUrl' | 'hasCredential'>[];
}

/**
 * Returns the first model that a first request can use: it is available, and one of its sources is
 * a running simulator.
 * @returns null if there is none
 */
export function firstModel(models: readonly DemoModelNow[], providerUrls: readonly string[]): string | null {
  const found = models.find(
    ({ model, sources }) =>
      model !== null &&
      model.kind === 'chat' &&
      model.active &&
      model.available &&
      model.prices !== null &&
      sources.some(({ enabled, baseUrl, hasCredential }) => enabled && hasCredential && providerUrls.includes(baseUrl)),
  );
  return found?.model?.id ?? null;
}
