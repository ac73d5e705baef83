import { fileURLToPath } from 'node:url';
import type { Addresses } from './addresses.js';
import { publicKeyOf, type Secrets } from './secrets.js';

/** The services of the local start, in the order in which they stop. */
export const SERVICES = ['edge-proxy', 'dashboard', 'admission', 'billing', 'accounts', 'catalog'] as const;
export type LocalService = (typeof SERVICES)[number];
export type ProcessName = LocalService | 'provider-simulator';

/** Returns the program of a process. */
export function programOf(name: ProcessName): string {
  const room = name === 'provider-simulator' ? 'tools' : 'services';
  return fileURLToPath(new URL(`../../../${room}/${name}/dist/main.js`, import.meta.url));
}

/** Returns the environment of a service, the same as in compose and Helm. */
export function environmentOf(
  service: LocalService,
  addresses: Addresses,
  secrets: Secrets,
  stateDirectory: string,
): Record<string, string> {
  const own: Record<LocalService, () => Record<string, string>> = {
    'edge-proxy': () => ({
      GATEWAY_PUBLIC_URL: addresses.publicUrl,
      GATEWAY_DASHBOARD_URL: addresses.dashboardUrl,
      GATEWAY_BILLING_LINK_URL: `${addresses.dashboardUrl}/billing`,
      GATEWAY_USAGE_SPOOL_DIRECTORY: `${stateDirectory}/usage`,
      GATEWAY_KEY_PEPPER: secrets.keyPepper,
      GATEWAY_SOURCE_PRIVATE_KEY: secrets.sourcePrivateKey,
      GATEWAY_ALLOW_PRIVATE_SOURCES: 'on',
    }),
    dashboard: () => ({
      GATEWAY_PUBLIC_URL: addresses.publicUrl,
      GATEWAY_DASHBOARD_URL: addresses.dashboardUrl,
      GATEWAY_TEAMS_ENABLED: 'on',
      GATEWAY_DASHBOARD_OPERATORS: 'on',
      GATEWAY_KEY_PEPPER: secrets.keyPepper,
      GATEWAY_SOURCE_PUBLIC_KEY: publicKeyOf(secrets.sourcePrivateKey),
      GATEWAY_WEBHOOK_PUBLIC_KEY: publicKeyOf(secrets.webhookPrivateKey),
      GATEWAY_SESSION_SECRET: secrets.sessionSecret,
      GATEWAY_OPERATOR_TOKEN: secrets.operatorToken,
    }),
    admission: () => ({ GATEWAY_REDIS_URL: addresses.redisUrl }),
    catalog: () => ({ GATEWAY_ALLOW_PRIVATE_SOURCES: 'on' }),
    accounts: () => ({
      GATEWAY_TEAMS_ENABLED: 'on',
      GATEWAY_DASHBOARD_URL: addresses.dashboardUrl,
      GATEWAY_SMTP_URL: addresses.smtpUrl,
    }),
    billing: () => ({
      GATEWAY_WEBHOOK_PRIVATE_KEY: secrets.webhookPrivateKey,
      GATEWAY_ALLOW_PRIVATE_WEBHOOKS: 'on',
    }),
  };
  const hasDatabase = service === 'billing' || service === 'accounts' || service === 'catalog';
  return {
    GATEWAY_NATS_URL: addresses.natsUrlOf(service),
    ...(hasDatabase && { GATEWAY_POSTGRES_URL: addresses.postgresUrlOf(service) }),
    ...own[service](),
  };
}
