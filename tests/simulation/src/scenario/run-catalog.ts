import { buildCatalogView } from '@gateway/admission/admit/catalog-view-rules.js';
import type { CatalogModel, CatalogSource } from '@gateway/contracts/messages';

export const MODELS = ['acme/one', 'acme/two'] as const;
/** The price and the cost of all models, nano-USD. */
export const RUN_FIGURES = {
  inputPerMillion: 10_000_000,
  cachedInputPerMillion: null,
  cacheWritePerMillion: null,
  cacheWrite1hPerMillion: null,
  outputPerMillion: 50_000_000,
  perCall: 1_000,
  tiers: [],
};

function modelOf(id: string): CatalogModel {
  return {
    v: 1,
    id,
    displayName: id,
    active: true,
    available: true,
    kind: 'chat',
    contextLength: null,
    maxOutputTokens: null,
    bytesPerToken: 3,
    createdAt: 0,
    prices: [{ version: 'price-1', effectiveFrom: 0, figures: RUN_FIGURES }],
  };
}

function sourceOf(model: string, place: number): CatalogSource {
  return {
    v: 1,
    id: `${model.replace('/', '-')}-${place}`,
    model,
    provider: `provider${place}`,
    enabled: true,
    baseUrl: 'https://provider.example',
    upstreamModel: 'm',
    endpoints: ['/v1/chat/completions'],
    paths: {},
    auth: { type: 'bearer' },
    sealedCredential: null,
    headers: {},
    betas: 'pass',
    priority: place,
    weight: 1,
    streamUsage: true,
    cancelStopsBilling: place === 1,
    limits: { headersTimeoutMs: null, firstEventTimeoutMs: null, silenceTimeoutMs: null },
    costs: [{ version: 'cost-1', effectiveFrom: 0, figures: RUN_FIGURES }],
  };
}

const models = MODELS.map(modelOf);
const sources = MODELS.flatMap((model) => [sourceOf(model, 0), sourceOf(model, 1)]);

/** Two models with two sources each. The second stops billing on cancellation. */
export const RUN_CATALOG = { models, sources, view: buildCatalogView(models, sources) };
