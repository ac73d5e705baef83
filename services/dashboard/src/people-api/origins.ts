const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

/** Whether a host of a URL is this machine. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_NAMES.includes(host) || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** Origins of the dashboard's own pages. On this machine its names mean the same: people type `localhost`. */
export function ownOrigins(dashboardUrl: string): ReadonlySet<string> {
  const url = new URL(dashboardUrl);
  if (!isLoopbackHost(url.hostname)) return new Set([url.origin]);
  const port = url.port === '' ? '' : `:${url.port}`;
  return new Set([url.origin, ...LOOPBACK_NAMES.map((name) => `${url.protocol}//${name}${port}`)]);
}

/** Whether passwords and secrets would travel readable over somebody's network. */
export function needsTls(dashboardUrl: string): boolean {
  const { protocol, hostname } = new URL(dashboardUrl);
  return protocol === 'http:' && !isLoopbackHost(hostname);
}
