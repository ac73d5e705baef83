import { DEFAULT_KEY_PREFIX } from '@gateway/contracts/ids';
import type { PagesConfig } from '@gateway/contracts/pages';
import { readFileSync } from 'node:fs';
import type { DashboardConfig } from '../config.js';

export interface PagesSettings {
  readonly config: PagesConfig;
  /** Whether cookies and HSTS are those of TLS. */
  readonly secure: boolean;
  readonly origins: ReadonlySet<string>;
}

export type SettingsConfig = Pick<
  DashboardConfig,
  | 'GATEWAY_DASHBOARD_URL'
  | 'GATEWAY_DASHBOARD_OPERATORS'
  | 'GATEWAY_PUBLIC_URL'
  | 'GATEWAY_MESSAGES_ENABLED'
  | 'GATEWAY_TEAMS_ENABLED'
  | 'GATEWAY_SIGN_UP_ENABLED'
  | 'GATEWAY_KEY_PREFIXES'
>;

/** Derives the settings of the pages from the configuration. */
export function createSettings(config: SettingsConfig): PagesSettings {
  const dashboardUrl = config.GATEWAY_DASHBOARD_URL;
  const publicUrl = config.GATEWAY_PUBLIC_URL.replace(/(?<!\/)\/+$/, '');
  const pages: PagesConfig = {
    chatBaseUrl: `${publicUrl}/v1`,
    messagesBaseUrl: config.GATEWAY_MESSAGES_ENABLED ? publicUrl : null,
    teamsEnabled: config.GATEWAY_TEAMS_ENABLED,
    signUpEnabled: config.GATEWAY_SIGN_UP_ENABLED,
    operatorsEnabled: config.GATEWAY_DASHBOARD_OPERATORS,
    tlsNeeded: needsTls(dashboardUrl),
    keyPrefix: config.GATEWAY_KEY_PREFIXES?.[0] ?? DEFAULT_KEY_PREFIX,
    version: versionOfPackage(),
  };
  return { config: pages, secure: dashboardUrl.startsWith('https:'), origins: ownOrigins(dashboardUrl) };
}

function versionOfPackage(): string {
  const file = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(file) as { readonly version: string }).version;
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

/** Returns whether a host of a URL is this machine. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_NAMES.includes(host) || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** Returns the origins of the dashboard's pages, including all loopback names. */
export function ownOrigins(dashboardUrl: string): ReadonlySet<string> {
  const url = new URL(dashboardUrl);
  if (!isLoopbackHost(url.hostname)) return new Set([url.origin]);
  const port = url.port === '' ? '' : `:${url.port}`;
  return new Set([url.origin, ...LOOPBACK_NAMES.map((name) => `${url.protocol}//${name}${port}`)]);
}

/** Returns whether passwords and secrets would cross a network unencrypted. */
export function needsTls(dashboardUrl: string): boolean {
  const { protocol, hostname } = new URL(dashboardUrl);
  return protocol === 'http:' && !isLoopbackHost(hostname);
}
