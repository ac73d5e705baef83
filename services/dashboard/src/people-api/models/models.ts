import { catalogListModels, catalogSourceHealth } from '@gateway/contracts/messages';
import {
  figuresFromSpec,
  isRefusal,
  PAGE_LIMIT_MAX,
  type ManagementRefusal,
  type ModelView,
  type PricesSpec,
  type SourceHealthView,
} from '@gateway/contracts/operator';
import { formatUsd, resolvePrices, withHourWrites, type ResolvedPrices } from '@gateway/metering';
import type { PageModel, PageModels } from '@gateway/contracts/pages';
import type { Services } from '../../operator-api/route.js';
import type { RouteResult } from '../../http/route.js';
import { defineRoute } from '../route.js';
import { decidingState, type DecidingState } from './deciding-state.js';

/** Most pages of a catalog list that are read for one response. */
const PAGES_MAX = 25;

export const MODEL_PAGE_ROUTES = [
  defineRoute({
    id: 'listModels',
    access: 'member',
    method: 'GET',
    path: '/accounts/{account}/models',
    async handle(request): Promise<RouteResult> {
      const { services } = request;
      const [catalog, state, failing] = await Promise.all([
        allModels(services),
        decidingState(request),
        failingModels(services),
      ]);
      if (isRefusal(catalog)) return catalog;
      const data = catalog.models
        .filter(({ active }) => active)
        .map((model) => viewOf(model, state, { failing, onMessages: catalog.onMessages }));
      return { status: 200, body: { data } satisfies PageModels };
    },
  }),
];

interface ListedModels {
  readonly models: readonly ModelView[];
  /** IDs of the models that are served in the messages format. */
  readonly onMessages: ReadonlySet<string>;
}

async function allModels(services: Services): Promise<ListedModels | ManagementRefusal> {
  const pages = await allPages((cursor) => services.request(catalogListModels, { cursor, limit: PAGE_LIMIT_MAX }));
  if (isRefusal(pages)) return pages;
  return {
    models: pages.flatMap(({ models }) => models),
    onMessages: new Set(pages.flatMap(({ onMessages }) => onMessages)),
  };
}

/** Returns an empty set if source health cannot be read, because it is only a hint. */
async function failingModels(services: Services): Promise<ReadonlySet<string>> {
  const pages = await allPages((cursor) =>
    services.request(catalogSourceHealth, { cursor, limit: PAGE_LIMIT_MAX }),
  ).catch(() => []);
  return findFailingModels(isRefusal(pages) ? [] : pages.flatMap(({ sources }) => sources));
}

/**
 * Returns the models whose last attempt failed at every known source, whichever edge made it. A
 * request tries all sources before it fails, so a model with one working source is not included
 * after its first request.
 */
export function findFailingModels(entries: readonly SourceHealthView[]): ReadonlySet<string> {
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

/** Reads the pages of a list, at most {@link PAGES_MAX}. Returns the refusal if one is refused. */
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

function viewOf(
  model: ModelView,
  state: DecidingState | null,
  { failing, onMessages }: { readonly failing: ReadonlySet<string>; readonly onMessages: ReadonlySet<string> },
): PageModel {
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
    prices: prices && pricesOf(prices, onMessages.has(id)),
  };
}

function isInPlan({ terms }: DecidingState, model: string): boolean {
  return terms.plan !== null && (terms.models === null || terms.models.includes(model));
}

/** Fills in missing prices as charges do. */
function pricesOf(spec: PricesSpec, isOnMessages: boolean): NonNullable<PageModel['prices']> {
  const figures = figuresFromSpec(spec);
  const { standard } = resolvePrices(isOnMessages ? withHourWrites(figures) : figures);
  return {
    ...perMillion(standard),
    perCall: formatUsd(figures.perCall),
    tiers: standard.tiers.map((tier) => ({ aboveInputTokens: tier.aboveInputTokens, ...perMillion(tier) })),
  };
}

function perMillion(prices: ResolvedPrices) {
  return {
    inputPerMillion: formatUsd(prices.inputPerMillion),
    cachedInputPerMillion: formatUsd(prices.cachedInputPerMillion),
    cacheWritePerMillion: formatUsd(prices.cacheWritePerMillion),
    cacheWrite1hPerMillion: formatUsd(prices.cacheWrite1hPerMillion),
    outputPerMillion: formatUsd(prices.outputPerMillion),
  };
}
