import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const { IPv4, IPv6 } = ipaddr;

/**
 * Reports whether a host, as normalized by the URL parser (dotted decimal IPv4, bracketed IPv6,
 * lower case), is reachable only from this machine or a private network. This includes loopback,
 * private, link-local (also cloud metadata), shared, reserved and multicast addresses, also inside
 * IPv6 forms of IPv4, and names without a public suffix.
 */
export function isPrivateHost(host: string): boolean {
  const ip = host.replace(/^\[|\]$/g, '');
  return isIP(ip) === 0 ? isPrivateName(host.replace(/(?<!\.)\.+$/, '')) : isPrivate(ipaddr.parse(ip));
}

/**
 * Reports the same for one resolved address, as written by the resolver or `socket.remoteAddress`.
 * An address with a zone is link-local. An invalid address counts as private, so that it is
 * refused.
 */
export function isPrivateAddress(ip: string): boolean {
  if (isIP(ip) === 0 || ip.includes('%')) return true;
  // The library would read "::8.8.8.8" as a mapped address; the URL parser writes only groups.
  return isPrivateHost(isIP(ip) === 6 ? new URL(`http://[${ip}]`).hostname : ip);
}

const PRIVATE_SUFFIXES = ['localhost', 'local', 'internal', 'intranet', 'lan', 'home.arpa', 'localdomain'];

function isPrivateName(name: string): boolean {
  if (!name.includes('.')) return true;
  return PRIVATE_SUFFIXES.some((suffix) => name.endsWith(`.${suffix}`));
}

/**
 * Names of ranges with public addresses in ipaddr.js. All its other ranges belong to this machine,
 * a private network, or no network.
 */
const PUBLIC_V4 = ['unicast', 'as112', 'amt'];

/** The first matching range counts. An address without a match is private. */
const V6_RANGES = {
  mapped: [IPv6.parseCIDR('::ffff:0:0/96')],
  nat64: [IPv6.parseCIDR('64:ff9b::/96')],
  sixToFour: [IPv6.parseCIDR('2002::/16')],
  teredoAndOthers: [IPv6.parseCIDR('2001::/23')],
  documentation: [IPv6.parseCIDR('2001:db8::/32'), IPv6.parseCIDR('3fff::/20')],
  public: [IPv6.parseCIDR('2000::/3')],
};

/** Checks IPv6 forms that contain an IPv4 address by that address. */
function isPrivate(ip: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (ip instanceof IPv4) return !PUBLIC_V4.includes(ip.range());
  const carried = (byte: number) => new IPv4(ip.toByteArray().slice(byte, byte + 4));
  const range = ipaddr.subnetMatch(ip, V6_RANGES, 'private');
  if (range === 'mapped' || range === 'nat64') return isPrivate(carried(12));
  return range === 'sixToFour' ? isPrivate(carried(2)) : range !== 'public';
}

/** Scheme, user and password, servers, and the remaining part. */
const PARTS = /^([a-z][a-z0-9+.-]*:\/\/)((?:[^/?#]*@)?)([^/?#@]*)(.*)/is;

/**
 * Returns one URL for each server of a URL: `nats://user:password@a:1,b:2/x` gives
 * `nats://user:password@a:1/x` and the same with `b:2`. A text of another form is returned
 * unchanged.
 */
export function splitUrl(text: string): string[] {
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
  const url = new URL(splitUrl(text)[0] ?? '');
  change(url);
  return hosts.includes(',') ? url.href.replace(PARTS, `$1$2${hosts}$4`) : url.href;
}
