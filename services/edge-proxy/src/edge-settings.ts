import type { ErrorContext } from '@gateway/contracts/errors';
import { DEFAULT_KEY_PREFIX } from '@gateway/contracts/ids';
import type { EdgeSettings } from './call/call.js';
import type { EdgeConfig } from './config.js';

/** What the verbs read of the configuration. */
export function settingsOf(config: EdgeConfig, traceRatio: number): EdgeSettings {
  const publicUrl = config.GATEWAY_PUBLIC_URL.replace(/\/+$/, '');
  const errors: ErrorContext = {
    billingLinkUrl: config.GATEWAY_BILLING_LINK_URL ?? billingPageOf(config.GATEWAY_DASHBOARD_URL) ?? publicUrl,
    chatBaseUrl: `${publicUrl}/v1`,
    messagesBaseUrl: publicUrl,
  };
  return {
    errors,
    keyPrefixes: config.GATEWAY_KEY_PREFIXES ?? [DEFAULT_KEY_PREFIX],
    pepper: config.GATEWAY_KEY_PEPPER,
    messagesEnabled: config.GATEWAY_MESSAGES_ENABLED,
    traceRatio,
    tracesClients: config.GATEWAY_TRACE_CLIENTS ?? config.GATEWAY_EDGE_PROXIES > 0,
    upstreamDeadlineMs: config.GATEWAY_UPSTREAM_DEADLINE_MS,
    readOnMs: config.GATEWAY_READ_ON_MS,
    stalledMs: config.GATEWAY_HTTP_STALLED_MS,
  };
}

function billingPageOf(dashboardUrl: string | null): string | null {
  return dashboardUrl === null ? null : `${dashboardUrl.replace(/\/+$/, '')}/billing`;
}
