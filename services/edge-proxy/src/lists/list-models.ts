import { gatewayError, refusalError, type GatewayError } from '@gateway/contracts/errors';
import { toPriceFigures, type CatalogModel, type Endpoint, type PricedVersion } from '@gateway/contracts/messages';
import type { ModelList, ModelListEntry, TokenPricing } from '@gateway/contracts/public';
import { formatUsd, resolvePrices, type ResolvedPrices } from '@gateway/metering';
import type { Clock } from '@gateway/service-kit';
import type { EdgeSettings } from '../call/call.js';
import { type KeyRequestParts, requestKey } from '../call/admit/key-lookup.js';
import type { EdgeMetrics } from '../call/edge-metrics.js';
import { type KeySettings, computeKeyDigests } from '../call/receive.js';
import { findVersionAt } from '../pricing/charge.js';
import { writeError, writeJson } from '../http/write-error.js';
import { ENDPOINT_TABLE } from '../formats/endpoints.js';
import type { AuthorizeReply, BusClient, Catalog, ClientRequest } from '../ports.js';

/** Parts of {@link listModels}. */
export interface ModelListParts extends KeyRequestParts {
  readonly settings: KeySettings & Pick<EdgeSettings, 'messagesEnabled'>;
  readonly bus: Pick<BusClient, 'authorize'>;
  readonly catalog: Pick<Catalog, 'ready' | 'models' | 'sourcesOf'>;
  readonly clock: Clock;
  readonly metrics: KeyRequestParts['metrics'] & Pick<EdgeMetrics, 'errorAnswered'>;
}

type Authorized = Extract<AuthorizeReply, { kind: 'authorized' }>;

/**
 * GET /v1/models: checks the key, then returns the models that it may call
 * (docs/behaviour.md#models). Counts toward no limit.
 */
export async function listModels(parts: ModelListParts, request: ClientRequest): Promise<void> {
  const fail = (error: GatewayError): void => {
    parts.metrics.errorAnswered(error.code);
    writeError(request.answer, error, request.id, 'chat');
  };
  const key = computeKeyDigests(request.headers, parts.settings);
  if (key.kind === 'error') return fail(key.error);
  if (!parts.catalog.ready()) return fail(gatewayError('catalog_error'));
  const answer = await requestKey(parts, request, key.digests, (question, to) => parts.bus.authorize(question, to));
  if (answer === null) return fail(gatewayError('lookup_failed'));
  switch (answer.kind) {
    case 'authorized': {
      const data = visibleModels(parts, answer, parts.clock.nowMs());
      const list: ModelList = { object: 'list', data };
      return writeJson(request.answer, 200, JSON.stringify(list));
    }
    case 'error':
      return fail(answer.error);
    case 'refused':
      return fail(refusalError(answer.code, answer.facts, parts.settings.errors));
    case 'fault':
      return fail(gatewayError(answer.code));
  }
}

function visibleModels({ catalog, settings }: ModelListParts, authorized: Authorized, nowMs: number): ModelListEntry[] {
  const allowed = authorized.allowedModels === null ? null : new Set(authorized.allowedModels);
  const planned = authorized.planModels === null ? null : new Set(authorized.planModels);
  const entries: ModelListEntry[] = [];
  for (const model of catalog.models()) {
    const price = findVersionAt(model.prices, nowMs);
    const isPaid = authorized.walletAboveZero || planned === null || planned.has(model.id);
    const isOn = model.active && model.available;
    if (!isOn || price === null || !isPaid || allowed?.has(model.id) === false) continue;
    const endpoints = findEndpoints(catalog, model, settings.messagesEnabled);
    // Omits models without a reachable endpoint.
    if (endpoints.length > 0) entries.push(toEntry(model, price, endpoints));
  }
  return entries.sort((one, other) => (one.id < other.id ? -1 : 1));
}

function toEntry(model: CatalogModel, price: PricedVersion, endpoints: readonly Endpoint[]): ModelListEntry {
  const figures = toPriceFigures(price);
  const { standard } = resolvePrices(figures);
  return {
    id: model.id,
    object: 'model',
    created: Math.floor(model.createdAt / 1000),
    owned_by: model.id.slice(0, model.id.indexOf('/')),
    type: 'model',
    display_name: model.displayName,
    created_at: new Date(model.createdAt).toISOString(),
    endpoints: [...endpoints],
    context_length: model.contextLength,
    pricing: {
      ...tokenPricing(standard),
      per_call: formatUsd(figures.perCall),
      long_context: standard.tiers.map((tier) => ({
        above_input_tokens: tier.aboveInputTokens,
        ...tokenPricing(tier),
      })),
    },
  };
}

/** Prices in USD per million tokens. */
function tokenPricing(prices: ResolvedPrices): TokenPricing {
  return {
    input: formatUsd(prices.inputPerMillion),
    cached_input: formatUsd(prices.cachedInputPerMillion),
    cache_write: formatUsd(prices.cacheWritePerMillion),
    cache_write_1h: formatUsd(prices.cacheWrite1hPerMillion),
    output: formatUsd(prices.outputPerMillion),
  };
}

/** Returns the endpoints of enabled sources that are enabled on this deployment. */
function findEndpoints(
  catalog: Pick<Catalog, 'sourcesOf'>,
  model: CatalogModel,
  isMessagesEnabled: boolean,
): Endpoint[] {
  const enabled = catalog.sourcesOf(model.id).filter((source) => source.enabled);
  const endpoints = [...new Set(enabled.flatMap((source) => source.endpoints))].sort();
  return endpoints.filter((path) => {
    const row = ENDPOINT_TABLE.get(path);
    return row?.kind === model.kind && (isMessagesEnabled || row.style !== 'messages');
  });
}
