import type { ModelView, SourceView } from '@gateway/contracts/operator';

/** What the catalog has of one demo model; null: an operator deleted it. */
export interface DemoModelNow {
  readonly model: Pick<ModelView, 'id' | 'kind' | 'active' | 'available' | 'prices'> | null;
  readonly sources: readonly Pick<SourceView, 'enabled' | 'baseUrl' | 'hasCredential'>[];
}

/**
 * The first model that a first call can name: it may be called, and one of its sources is a
 * simulator that runs now.
 * @returns null where there is none
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
