import type { CatalogSource, PricedVersion } from '@gateway/contracts/messages';
import { TEST_PRICE } from './fake-admission.js';

type PricingRules = NonNullable<CatalogSource['pricing']>;

/** Pricing rules as in a profile, one of each kind. */
export const RULES: PricingRules = {
  classes: [
    {
      field: 'service_tier',
      asks: { default: 'standard', auto: 'standard', priority: 'priority', flex: 'flex' },
      answersAt: 'service_tier',
      answers: { default: 'standard', priority: 'priority', flex: 'flex' },
    },
    { field: 'speed', asks: { standard: 'standard', fast: 'fast' }, answersAt: null, answers: {} },
  ],
  tools: [
    {
      unit: 'web_search',
      types: ['web_search_*', 'web_search'],
      fields: ['web_search_options'],
      reportedAt: 'usage.server_tool_use.web_search_requests',
      usesMax: 10,
      boundedBy: 'max_uses',
    },
    {
      unit: 'file_search',
      types: ['file_search'],
      fields: [],
      reportedAt: 'output[type=file_search_call]',
      usesMax: 5,
      boundedBy: 'max_tool_calls',
    },
    { unit: 'code', types: ['code_execution'], fields: [], reportedAt: null, usesMax: 5, boundedBy: null },
  ],
  freeTools: ['function', 'custom'],
  unpricedFields: { inference_geo: ['us'], container: [] },
};

const { figures } = TEST_PRICE;
const times = (factor: number) => ({
  inputPerMillion: figures.inputPerMillion * factor,
  cachedInputPerMillion: null,
  cacheWritePerMillion: null,
  cacheWrite1hPerMillion: null,
  outputPerMillion: figures.outputPerMillion * factor,
  tiers: [],
});

/** Priority costs twice as much, flex half; fast has no price; audio is ten times text. */
export const PRICE_WITH_EXTRAS: PricedVersion = {
  version: TEST_PRICE.version,
  figures: {
    ...figures,
    extras: {
      classes: { priority: times(2), flex: times(0.5) },
      units: { web_search: 10_000, file_search: 2_500, code: 30_000 },
      kinds: { audioInput: figures.inputPerMillion * 10, audioOutput: null, imageInput: null, imageOutput: null },
    },
  },
};
