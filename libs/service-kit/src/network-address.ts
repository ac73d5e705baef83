import { isIPv4, isIPv6 } from 'node:net';

/**
 * Whether a host, as the URL parser normalised it (dotted decimal IPv4, bracketed IPv6, lower case), is one that only this
 * machine or a private network reaches: loopback, private, link-local (cloud metadata among them), shared, reserved and
 * multicast addresses, also inside IPv6 forms of IPv4; and names without a public suffix.
 */
export function isPrivateHost(host: string): boolean {
  if (host.startsWith('[')) return isPrivateV6(groupsOf(host.slice(1, -1)));
  if (/^\d+\.\d+\.\d+\.\d+$/.test(host)) return isPrivateV4(numberOf(host));
  return isPrivateName(host.replace(/\.+$/, ''));
}

/**
 * The same for one address that a name resolved to, as the resolver or `socket.remoteAddress` writes it. An address with a
 * zone is link-local; what is no address is taken for private, so that it is refused.
 */
export function isPrivateAddress(ip: string): boolean {
  if (isIPv4(ip)) return isPrivateV4(numberOf(ip));
  if (!isIPv6(ip) || ip.includes('%')) return true;
  return isPrivateHost(new URL(`http://[${ip}]`).hostname);
}

const PRIVATE_SUFFIXES = ['localhost', 'local', 'internal', 'intranet', 'lan', 'home.arpa', 'localdomain'];

function isPrivateName(name: string): boolean {
  if (!name.includes('.')) return true;
  return PRIVATE_SUFFIXES.some((suffix) => name.endsWith(`.${suffix}`));
}

/** First address and length of the prefix. */
const PRIVATE_V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8],
  ['100.64.0.0', 10], // shared by carriers
  ['127.0.0.0', 8],
  ['169.254.0.0', 16], // link-local, cloud metadata
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // relays
  ['192.168.0.0', 16],
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 3], // multicast and reserved
];

function isPrivateV4(address: number): boolean {
  return PRIVATE_V4.some(([first, bits]) => {
    const start = numberOf(first);
    return address >= start && address < start + 2 ** (32 - bits);
  });
}

function numberOf(dotted: string): number {
  return dotted.split('.').reduce((number, part) => number * 256 + Number(part), 0);
}

/** The eight 16-bit groups of a compressed IPv6 address without a dotted part, as the URL parser writes it. */
function groupsOf(text: string): number[] {
  const [head = '', tail] = text.split('::');
  const read = (part: string) => (part === '' ? [] : part.split(':').map((group) => parseInt(group, 16)));
  if (tail === undefined) return read(head);
  const [before, after] = [read(head), read(tail)];
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/** Only 2000::/3 is public; in it documentation, and the forms that carry an IPv4 address, are judged by their content. */
function isPrivateV6(groups: readonly number[]): boolean {
  const [first = 0, second = 0] = groups;
  const v4At = (index: number) => (groups[index] ?? 0) * 65_536 + (groups[index + 1] ?? 0);
  if (first === 0x64 && second === 0xff9b && zero(groups.slice(2, 6))) return isPrivateV4(v4At(6)); // NAT64
  if (zero(groups.slice(0, 5)) && groups[5] === 0xffff) return isPrivateV4(v4At(6)); // mapped
  if (first === 0x2002) return isPrivateV4(v4At(1)); // 6to4
  if (first === 0x2001 && (second < 0x200 || second === 0xdb8)) return true; // Teredo and others, documentation
  if (first === 0x3fff && second < 0x1000) return true; // documentation
  return first < 0x2000 || first > 0x3fff;
}

function zero(groups: readonly number[]): boolean {
  return groups.every((group) => group === 0);
}
