const V4_IN_V6 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const V4 = /^\d{1,3}(\.\d{1,3}){3}$/;
/** With a port, as some proxies write it: `1.2.3.4:5678`, `[::1]:5678` or `[::1]`. */
const V4_WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/;
const BRACKETED = /^\[([^\]]*)\](:\d{1,5})?$/;
/** Groups of an IPv6 address that name a network; within it one client has all addresses. */
const V6_NETWORK_GROUPS = 4;
const UNKNOWN = 'unknown';

/**
 * The network that a request comes from: an IPv4 address, or the /64 of an IPv6 address. Each of `proxies` trusted proxies has
 * appended the address that it saw to X-Forwarded-For; what stands before those is the client's own claim. `unknown` when the
 * address cannot be read: all such clients are one.
 */
export function clientNetwork(peer: string | undefined, forwardedFor: string | undefined, proxies: number): string {
  if (proxies === 0) return networkOf(peer ?? '');
  const seen = (forwardedFor ?? '').split(',').map((address) => address.trim());
  const before = seen[seen.length - proxies] ?? '';
  return networkOf(before === '' ? (peer ?? '') : before);
}

function networkOf(address: string): string {
  const bare = BRACKETED.exec(address)?.[1] ?? V4_WITH_PORT.exec(address)?.[1] ?? address;
  const plain = V4_IN_V6.exec(bare)?.[1] ?? bare;
  if (V4.test(plain)) return plain;
  const groups = groupsOf(plain.replace(/%.*$/, ''));
  return groups === null ? UNKNOWN : `${groups.slice(0, V6_NETWORK_GROUPS).join(':')}::/64`;
}

/** The eight groups without leading zeros; null: this is no IPv6 address. */
function groupsOf(address: string): string[] | null {
  const [before = '', after, ...rest] = address.split('::');
  if (rest.length > 0 || address === '') return null;
  const head = before === '' ? [] : before.split(':');
  const tail = after === undefined || after === '' ? [] : after.split(':');
  const zeros = after === undefined ? 0 : 8 - head.length - tail.length;
  if (zeros < 0) return null;
  const groups = [...head, ...Array.from({ length: zeros }, () => '0'), ...tail];
  if (groups.length !== 8 || !groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return null;
  return groups.map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''));
}
