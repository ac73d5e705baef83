import { buildCatalogView, type CatalogView } from '@gateway/admission/admit/catalog-view-rules.js';
import type { CatalogModel, CatalogSource } from '@gateway/contracts/messages';

/** The catalog of a run. It does not change. */
export interface RunCatalog {
  readonly models: readonly CatalogModel[];
  readonly sources: readonly CatalogSource[];
  readonly view: CatalogView;
}

/** Nano-USD. */
export const PER_CALL = 1_000;
const PER_MILLION_INPUT = 10_000_000;
const PER_MILLION_OUTPUT = 50_000_000;
export const MODELS = ['acme/one', 'acme/two'] as const;

const figures = {
  inputPerMillion: PER_MILLION_INPUT,
  cachedInputPerMillion: null,
  cacheWritePerMillion: null,
  cacheWrite1hPerMillion: null,
  outputPerMillion: PER_MILLION_OUTPUT,
  perCall: PER_CALL,
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
    prices: [{ version: 'price-1', effectiveFrom: 0, figures }],
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
    costs: [{ version: 'cost-1', effectiveFrom: 0, figures }],
  };
}

const models = MODELS.map(modelOf);
const sources = MODELS.flatMap((model) => [sourceOf(model, 0), sourceOf(model, 1)]);

/** Two models with two sources each. The second stops billing on cancellation. */
export const RUN_CATALOG: RunCatalog = { models, sources, view: buildCatalogView(models, sources) };
export const RUN_FIGURES = figures;
