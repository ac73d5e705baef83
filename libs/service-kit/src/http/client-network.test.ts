import { expect, test } from '@jest/globals';
import { computeClientNetwork } from './client-network.js';

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001::6', '2001:db8:1:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['', 'unknown'],
  ['nonsense', 'unknown'],
  ['1::2::3', 'unknown'],
  ['203.0.113.7:5678', '203.0.113.7'],
  ['[2001:db8:1:2::6]:5678', '2001:db8:1:2::/64'],
  ['[2001:db8:1:2::6]', '2001:db8:1:2::/64'],
  ['[::ffff:203.0.113.7]:5678', '203.0.113.7'],
  ['203.0.113.7:5678:9', 'unknown'],
])('the network of peer %j is %s', (peer, network) =>
  expect(computeClientNetwork(peer, '198.51.100.1', 0)).toBe(network),
);

test.each([
  ['198.51.100.1', 1, '198.51.100.1'],
  ['6.6.6.6, 198.51.100.1', 1, '198.51.100.1'],
  ['6.6.6.6, 198.51.100.1, 10.0.0.2', 2, '198.51.100.1'],
  ['[2001:db8::5]:443', 1, '2001:db8:0:0::/64'],
  ['6.6.6.6:1, 198.51.100.1:50123', 1, '198.51.100.1'],
  ['198.51.100.1', 2, '203.0.113.7'],
  [undefined, 1, '203.0.113.7'],
])('forwarded addresses %j with %p trusted proxies give the network %s', (forwardedFor, proxies, network) =>
  expect(computeClientNetwork('203.0.113.7', forwardedFor, proxies)).toBe(network),
);
