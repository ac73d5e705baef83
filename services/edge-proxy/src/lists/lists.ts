import { type ErrorContext, type GatewayError, gatewayError, refusalError } from '@gateway/contracts/errors';
import { type CatalogModel, type Endpoint, type PricedVersion, toPriceFigures } from '@gateway/contracts/messages';
import type { GatewayConfig, ModelList, ModelListEntry, TokenPricing, UsageObject } from '@gateway/contracts/public';
import { type ResolvedPrices, formatUsd, resolvePrices, windowView } from '@gateway/metering';
import type { Clock } from '@gateway/service-kit';
import { requestWithRetry } from '../admission/edge-clock.js';
import type { KnownReplicas } from '../admission/known-replicas.js';
import { type KeyLookupParts, checkKeyLookup, recordKeyOutcome } from '../call/admit/key-lookup.js';
import type { EdgeSettings } from '../call/call.js';
import type { Deadlines } from '../call/deadlines.js';
import type { EdgeMetrics } from '../call/edge-metrics.js';
import { type KeySettings, computeKeyDigests } from '../call/receive.js';
import { ENDPOINT_TABLE } from '../formats/endpoints.js';
import { writeError, writeJson } from '../http/write-error.js';
import type {
  AuthorizeReply,
  AuthorizeRequest,
  BusClient,
  Catalog,
  ClientRequest,
  TargetReplica,
  UsageReply,
} from '../ports.js';
import { findVersionAt } from '../pricing/charge.js';

/** Parts of the lists. */
export interface ListParts extends KeyLookupParts {
  readonly settings: KeySettings & Pick<EdgeSettings, 'messagesEnabled'>;
  readonly bus: Pick<BusClient, 'authorize' | 'usage'>;
  readonly replicas: KnownReplicas;
  readonly catalog: Pick<Catalog, 'ready' | 'models' | 'sourcesOf'>;
  readonly clock: Clock;
  readonly deadlines: Pick<Deadlines, 'nowMs'>;
  readonly metrics: KeyLookupParts['metrics'] & Pick<EdgeMetrics, 'errorAnswered'>;
}

type Authorized = Extract<AuthorizeReply, { kind: 'authorized' }>;
type Usage = Extract<UsageReply, { kind: 'usage' }>;
type UsageWindow = UsageObject['windows'][number];

/**
 * GET /v1/models: checks the key, then returns the models that it may call
 * (docs/behaviour.md#models). Counts toward no limit.
 */
export async function listModels(parts: ListParts, request: ClientRequest): Promise<void> {
  const ask = (question: AuthorizeRequest, to: TargetReplica) => parts.bus.authorize(question, to);
  const authorized = await requestKey(parts, request, ask, 'lookup_failed', parts.catalog.ready());
  if (authorized === null) return;
  const list: ModelList = { object: 'list', data: visibleModels(parts, authorized, parts.clock.nowMs()) };
  writeJson(request.answer, 200, JSON.stringify(list));
}

/**
 * GET /v1/gateway/usage: checks the key, then returns the settled values that limit the account
 * (docs/behaviour.md#usage).
 */
export async function showUsage(parts: ListParts, request: ClientRequest): Promise<void> {
  const ask = (question: AuthorizeRequest, to: TargetReplica) => parts.bus.usage(question, to);
  const usage = await requestKey(parts, request, ask, 'usage_unavailable');
  if (usage !== null) writeJson(request.answer, 200, JSON.stringify(toUsageObject(usage)));
}

/** Queries admission about the key of a request. Null: the client got an error. */
async function requestKey<Found extends { readonly kind: 'authorized' | 'usage'; readonly account: string }>(
  parts: ListParts,
  request: ClientRequest,
  ask: (question: AuthorizeRequest, to: TargetReplica) => Promise<Found | KeyRefusal>,
  noReply: 'lookup_failed' | 'usage_unavailable',
  isReady = true,
): Promise<Found | null> {
  const fail = (error: GatewayError): null => {
    parts.metrics.errorAnswered(error.code);
    writeError(request.answer, error, request.id, 'chat');
    return null;
  };
  const digests = computeKeyDigests(request.headers, parts.settings);
  if ('code' in digests) return fail(digests);
  if (!isReady) return fail(gatewayError('catalog_error'));
  const presented = { request, digests };
  const nowMs = (): number => parts.deadlines.nowMs();
  const lookup = checkKeyLookup(parts, presented, nowMs());
  if (lookup.kind === 'error') return fail(lookup.error);
  const question = { id: request.id, digests };
  const reply = await requestWithRetry((to) => ask(question, to), parts.replicas, nowMs).catch(() => null);
  if (reply === null) return fail(gatewayError(noReply));
  recordKeyOutcome(parts, presented, reply);
  if (reply.kind === 'refused') return fail(refusalError(reply.code, reply.facts, parts.settings.errors));
  return reply.kind === 'fault' ? fail(gatewayError(reply.code)) : reply;
}

type KeyRefusal = Extract<AuthorizeReply | UsageReply, { kind: 'refused' | 'fault' }>;

function visibleModels({ catalog, settings }: ListParts, authorized: Authorized, nowMs: number): ModelListEntry[] {
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

/** Returns the enabled sources' endpoints of the model's kind that this edge serves, sorted. */
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

function toUsageObject(usage: Usage): UsageObject {
  const { plan, subscription } = usage.terms;
  const periodEnd = subscription === null ? null : new Date(subscription.end).toISOString();
  return {
    object: 'gateway.usage',
    plan: plan === null ? null : { name: plan.name, tier: plan.tier, periodEnd },
    windows: plan === null ? [] : usage.windows.map(toWindow),
    wallet: usage.walletNanoUsd === null ? null : { balanceUsd: usd(usage.walletNanoUsd) },
    key: {
      monthlySpendCapUsd: usage.keyCapNanoUsd === null ? null : usd(usage.keyCapNanoUsd),
      allowedModels: usage.allowedModels,
    },
  };
}

function toWindow({ type, unit, limit, used, label, resetsAt }: Usage['windows'][number]): UsageWindow {
  const view = windowView(BigInt(limit), BigInt(used));
  const shown = (value: bigint): number => (unit === 'usd' ? usd(value) : Number(value));
  return {
    type,
    label,
    unit,
    limit: shown(view.limit),
    used: shown(view.used),
    remaining: shown(view.remaining),
    percentUsed: view.percentUsed,
    resetsAt: new Date(resetsAt).toISOString(),
  };
}

/** Returns the number with this decimal text, without floating-point arithmetic. */
function usd(amountNanoUsd: number | bigint): number {
  return Number(formatUsd(BigInt(amountNanoUsd)));
}

/**
 * GET /api/gateway/config: public. The addresses are configured and never taken from a Host header.
 */
export async function showConfig(errors: ErrorContext, request: ClientRequest): Promise<void> {
  const config: GatewayConfig = { chatBaseUrl: errors.chatBaseUrl, messagesBaseUrl: errors.messagesBaseUrl };
  writeJson(request.answer, 200, JSON.stringify(config));
}
