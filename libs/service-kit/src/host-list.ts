/** Scheme, user and password, servers, and the remaining part. */
const PARTS = /^([a-z][a-z0-9+.-]*:\/\/)((?:[^/?#]*@)?)([^/?#@]*)(.*)$/is;

/**
 * Returns one URL for each server of a URL: `nats://user:password@a:1,b:2/x` gives
 * `nats://user:password@a:1/x` and the same with `b:2`. A text of another form is returned
 * unchanged.
 */
export function urlsOf(text: string): string[] {
  const [, scheme = '', user = '', hosts = '', rest = ''] = PARTS.exec(text.trim()) ?? [];
  if (!hosts.includes(',')) return [text.trim()];
  return hosts.split(',').map((host) => `${scheme}${user}${host.trim()}${rest}`);
}

/**
 * Changes the parts that all servers of a URL share: user, password, path, parameters. `change`
 * receives the URL of the first server and must not change its host and port.
 * @throws TypeError for an invalid URL
 */
export function changeUrl(text: string, change: (url: URL) => void): string {
  const hosts = PARTS.exec(text.trim())?.[3] ?? '';
  const url = new URL(urlsOf(text)[0] ?? '');
  change(url);
  return hosts.includes(',') ? url.href.replace(PARTS, `$1$2${hosts}$4`) : url.href;
}
