import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';

const { IPv4, IPv6 } = ipaddr;

/**
 * Whether a host, as the URL parser normalised it (dotted decimal IPv4, bracketed IPv6, lower
 * case), is one that only this machine or a private network reaches: loopback, private, link-local
 * (cloud metadata among them), shared, reserved and multicast addresses, also inside IPv6 forms of
 * IPv4; and names without a public suffix.
 */
export function isPrivateHost(host: string): boolean {
  const ip = host.replace(/^\[|\]$/g, '');
  return isIP(ip) === 0 ? isPrivateName(host.replace(/\.+$/, '')) : isPrivate(ipaddr.parse(ip));
}

/**
 * The same for one address that a name resolved to, as the resolver or `socket.remoteAddress`
 * writes it. An address with a zone is link-local; what is no address is taken for private, so that
 * it is refused.
 */
export function isPrivateAddress(ip: string): boolean {
  if (isIP(ip) === 0 || ip.includes('%')) return true;
  // The library would read "::8.8.8.8" as a mapped address; the URL parser writes groups alone.
  return isPrivateHost(isIP(ip) === 6 ? new URL(`http://[${ip}]`).hostname : ip);
}

const PRIVATE_SUFFIXES = ['localhost', 'local', 'internal', 'intranet', 'lan', 'home.arpa', 'localdomain'];

function isPrivateName(name: string): boolean {
  if (!name.includes('.')) return true;
  return PRIVATE_SUFFIXES.some((suffix) => name.endsWith(`.${suffix}`));
}

/**
 * Ranges of the library that anybody reaches; all others of it are this machine's, a private
 * network's, or nobody's.
 */
const PUBLIC_V4 = ['unicast', 'as112', 'amt'];

/** Of those that match, the first counts. What none of them matches is private. */
const V6_RANGES = {
  mapped: [IPv6.parseCIDR('::ffff:0:0/96')],
  nat64: [IPv6.parseCIDR('64:ff9b::/96')],
  sixToFour: [IPv6.parseCIDR('2002::/16')],
  teredoAndOthers: [IPv6.parseCIDR('2001::/23')],
  documentation: [IPv6.parseCIDR('2001:db8::/32'), IPv6.parseCIDR('3fff::/20')],
  public: [IPv6.parseCIDR('2000::/3')],
};

/** Forms of IPv6 that carry an IPv4 address are judged by it. */
function isPrivate(ip: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (ip instanceof IPv4) return !PUBLIC_V4.includes(ip.range());
  const carried = (byte: number) => new IPv4(ip.toByteArray().slice(byte, byte + 4));
  const range = ipaddr.subnetMatch(ip, V6_RANGES, 'private');
  if (range === 'mapped' || range === 'nat64') return isPrivate(carried(12));
  return range === 'sixToFour' ? isPrivate(carried(2)) : range !== 'public';
}
