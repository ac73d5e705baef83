import { catalogListModels, catalogSourceHealth } from '@gateway/contracts/messages';
import {
  isRefusal,
  PAGE_LIMIT_MAX,
  type ManagementRefusal,
  type ModelView,
  type PricesSpec,
  type SourceHealthView,
} from '@gateway/contracts/operator';
import type { PageModel, PageModels } from '@gateway/contracts/pages';
import type { Services } from '../../operator-api/route.js';
import type { Handled } from '../../http/route.js';
import { defineRoute } from '../route.js';
import { decidingState, type DecidingState } from './deciding-state.js';

/** Pages of the catalog that are read for one answer. */
const PAGES_MAX = 25;

export const MODEL_PAGE_ROUTES = [
  defineRoute({
    id: 'listModels',
    access: 'member',
    method: 'GET',
    path: '/accounts/{account}/models',
    async handle(request): Promise<Handled> {
      const { services } = request;
      const [models, state, failing] = await Promise.all([
        allModels(services),
        decidingState(request),
        failingModels(services),
      ]);
      if (isRefusal(models)) return models;
      const data = models.filter(({ active }) => active).map((model) => viewOf(model, state, failing));
      return { status: 200, body: { data } satisfies PageModels };
    },
  }),
];

async function allModels(services: Services): Promise<ModelView[] | ManagementRefusal> {
  const pages = await allPages((cursor) => services.request(catalogListModels, { cursor, limit: PAGE_LIMIT_MAX }));
  return isRefusal(pages) ? pages : pages.flatMap(({ models }) => models);
}

/** Empty where the edges' memory cannot be read: it is a hint. */
async function failingModels(services: Services): Promise<ReadonlySet<string>> {
  const pages = await allPages((cursor) =>
    services.request(catalogSourceHealth, { cursor, limit: PAGE_LIMIT_MAX }),
  ).catch(() => []);
  return failingModelsOf(isRefusal(pages) ? [] : pages.flatMap(({ sources }) => sources));
}

/**
 * Models of which every source that some edge remembers failed when it was tried last, by whichever
 * edge. A call tries all sources before it fails, so a model with a source that works is not among
 * them once it was called.
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

/** The pages of a list, at most {@link PAGES_MAX}; the refusal when one of them is refused. */
async function allPages<Page extends { readonly nextCursor: string | null }>(
  ask: (cursor: string | null) => Promise<Page | ManagementRefusal>,
): Promise<Page[] | ManagementRefusal> {
  const pages: Page[] = [];
  for (let cursor: string | null = null; pages.length < PAGES_MAX;) {
    const page: Page | ManagementRefusal = await ask(cursor);
    if (isRefusal(page)) return page;
    pages.push(page);
    cursor = page.nextCursor;
    if (cursor === null) break;
  }
  return pages;
}

function viewOf(model: ModelView, state: DecidingState | null, failing: ReadonlySet<string>): PageModel {
  const { id, displayName, kind, available, contextLength, maxOutputTokens, prices } = model;
  const isPaid = state !== null && ((state.walletNanoUsd ?? 0) > 0 || isInPlan(state, id));
  return {
    id,
    displayName,
    kind,
    allowed: isPaid && available && prices !== null,
    available,
    failing: failing.has(id),
    contextLength,
    maxOutputTokens,
    prices: prices && pricesOf(prices),
  };
}

function isInPlan({ terms }: DecidingState, model: string): boolean {
  return terms.plan !== null && (terms.models === null || terms.models.includes(model));
}

/** What has no price of its own costs as input. */
function pricesOf({ perCall, tiers, ...prices }: PricesSpec): NonNullable<PageModel['prices']> {
  const perMillion = (of: Omit<PricesSpec, 'perCall' | 'tiers'>) => ({
    inputPerMillion: of.inputPerMillion,
    cachedInputPerMillion: of.cachedInputPerMillion ?? of.inputPerMillion,
    cacheWritePerMillion: of.cacheWritePerMillion ?? of.inputPerMillion,
    cacheWrite1hPerMillion: of.cacheWrite1hPerMillion ?? of.inputPerMillion,
    outputPerMillion: of.outputPerMillion,
  });
  return {
    ...perMillion(prices),
    perCall: perCall ?? '0',
    tiers: (tiers ?? []).map(({ aboveInputTokens, ...tier }) => ({ aboveInputTokens, ...perMillion(tier) })),
  };
}
