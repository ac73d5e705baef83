/** Scheme, user and password, the servers, and the rest. */
const PARTS = /^([a-z][a-z0-9+.-]*:\/\/)((?:[^/?#]*@)?)([^/?#@]*)(.*)$/is;

/**
 * A URL for each server of one that may name several: `nats://user:password@a:1,b:2/x` gives
 * `nats://user:password@a:1/x` and that of `b:2`. A text that is no such URL comes back as it is.
 */
export function urlsOf(text: string): string[] {
  const [, scheme = '', user = '', hosts = '', rest = ''] = PARTS.exec(text.trim()) ?? [];
  if (!hosts.includes(',')) return [text.trim()];
  return hosts.split(',').map((host) => `${scheme}${user}${host.trim()}${rest}`);
}

/**
 * The same servers with other parts that they share: user, password, path, parameters. `change` is
 * given the URL of the first server and must leave its host and port alone. @throws TypeError for a
 * text that is no URL
 */
export function changeUrl(text: string, change: (url: URL) => void): string {
  const hosts = PARTS.exec(text.trim())?.[3] ?? '';
  const url = new URL(urlsOf(text)[0] ?? '');
  change(url);
  return hosts.includes(',') ? url.href.replace(PARTS, `$1$2${hosts}$4`) : url.href;
}
