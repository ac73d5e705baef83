import { type ErrorContext, type GatewayError, gatewayError, refusalError } from '@gateway/contracts/errors';
import type { GatewayConfig, UsageObject } from '@gateway/contracts/public';
import { formatUsd, windowView } from '@gateway/metering';
import { type KeyRequestParts, requestKey } from '../call/admit/key-lookup.js';
import type { EdgeMetrics } from '../call/edge-metrics.js';
import { type KeySettings, computeKeyDigests } from '../call/receive.js';
import { writeError, writeJson } from '../http/write-error.js';
import type { BusClient, ClientRequest, UsageReply } from '../ports.js';

/** Parts of {@link showUsage}. */
export interface UsageViewParts extends KeyRequestParts {
  readonly settings: KeySettings;
  readonly bus: Pick<BusClient, 'usage'>;
  readonly metrics: KeyRequestParts['metrics'] & Pick<EdgeMetrics, 'errorAnswered'>;
}

type Usage = Extract<UsageReply, { kind: 'usage' }>;
type UsageWindow = UsageObject['windows'][number];

/**
 * GET /v1/gateway/usage: checks the key, then returns the settled values that limit the account
 * (docs/behaviour.md#usage).
 */
export async function showUsage(parts: UsageViewParts, request: ClientRequest): Promise<void> {
  const fail = (error: GatewayError): void => {
    parts.metrics.errorAnswered(error.code);
    writeError(request.answer, error, request.id, 'chat');
  };
  const key = computeKeyDigests(request.headers, parts.settings);
  if (key.kind === 'error') return fail(key.error);
  const answer = await requestKey(parts, request, key.digests, (question, to) => parts.bus.usage(question, to));
  if (answer === null) return fail(gatewayError('usage_unavailable'));
  switch (answer.kind) {
    case 'usage':
      return writeJson(request.answer, 200, JSON.stringify(toUsageObject(answer)));
    case 'error':
      return fail(answer.error);
    case 'refused':
      return fail(refusalError(answer.code, answer.facts, parts.settings.errors));
    case 'fault':
      return fail(gatewayError(answer.code));
  }
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
