import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';

/** An address with a port, as some proxies write it: `1.2.3.4:5678`, `[::1]:5678` or `[::1]`. */
const V4_WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/;
const BRACKETED = /^\[([^\]]*)\](:\d{1,5})?$/;
/** Groups of an IPv6 address that identify a network. A client may use the whole network. */
const V6_NETWORK_GROUPS = 4;
const UNKNOWN = 'unknown';

/**
 * Returns the network of a client: an IPv4 address, or the /64 of an IPv6 address. Each of the
 * `proxies` trusted proxies has appended the address of its peer to X-Forwarded-For; earlier
 * entries come from the client and are ignored. Returns `unknown` for an unreadable address, so all
 * such clients count as one.
 */
export function computeClientNetwork(
  peer: string | undefined,
  forwardedFor: string | undefined,
  proxies: number,
): string {
  if (proxies === 0) return networkOf(peer ?? '');
  const seen = (forwardedFor ?? '').split(',').map((address) => address.trim());
  const before = seen[seen.length - proxies] ?? '';
  return networkOf(before === '' ? (peer ?? '') : before);
}

function networkOf(address: string): string {
  const bare = BRACKETED.exec(address)?.[1] ?? V4_WITH_PORT.exec(address)?.[1] ?? address;
  if (isIP(bare) !== 6) return isIP(bare) === 4 ? bare : UNKNOWN;
  const ip = ipaddr.process(bare);
  if (ip instanceof ipaddr.IPv4) return ip.toString();
  const groups = ip.parts.slice(0, V6_NETWORK_GROUPS).map((group) => group.toString(16));
  return `${groups.join(':')}::/64`;
}
