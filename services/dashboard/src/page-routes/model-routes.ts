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
import type { PagesDoor } from '../page-ports.js';
import { failingModelsOf } from './failing-models.js';
import { accountRoute, type PageHandled } from '../pages/page-route.js';
import { decidingState, type DecidingState } from './deciding-state.js';

/** Pages of the catalog that are read for one answer. */
const PAGES_MAX = 25;

export const MODEL_PAGE_ROUTES = [
  accountRoute('member', {
    id: 'listModels',
    method: 'GET',
    path: '/models',
    async handle(request): Promise<PageHandled> {
      const { door } = request;
      const [models, state, failing] = await Promise.all([
        allModels(door),
        decidingState(request),
        failingModels(door),
      ]);
      if (isRefusal(models)) return models;
      const data = models.filter(({ active }) => active).map((model) => viewOf(model, state, failing));
      return { status: 200, body: { data } satisfies PageModels };
    },
  }),
];

async function allModels(door: PagesDoor): Promise<ModelView[] | ManagementRefusal> {
  const models: ModelView[] = [];
  let cursor: string | null = null;
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    const answer: Awaited<ReturnType<typeof askPage>> = await askPage(door, cursor);
    if (isRefusal(answer)) return answer;
    models.push(...answer.models);
    if (answer.nextCursor === null) break;
    cursor = answer.nextCursor;
  }
  return models;
}

/** Empty where the edges' memory cannot be read: it is a hint. */
async function failingModels(door: PagesDoor): Promise<ReadonlySet<string>> {
  const entries: SourceHealthView[] = [];
  let cursor: string | null = null;
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    const answer: Awaited<ReturnType<typeof askHealth>> = await askHealth(door, cursor);
    if (answer === null || isRefusal(answer)) return new Set();
    entries.push(...answer.sources);
    if (answer.nextCursor === null) break;
    cursor = answer.nextCursor;
  }
  return failingModelsOf(entries);
}

function askHealth(door: PagesDoor, cursor: string | null) {
  return door.services.request(catalogSourceHealth, { cursor, limit: PAGE_LIMIT_MAX }).catch(() => null);
}

function askPage(door: PagesDoor, cursor: string | null) {
  return door.services.request(catalogListModels, { cursor, limit: PAGE_LIMIT_MAX });
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
