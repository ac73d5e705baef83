import { expect, test } from '@jest/globals';
import { isPrivateAddress, isPrivateHost } from './network-address.js';

/** Returns the host as the URL parser writes it. */
const hostOf = (host: string) => new URL(`https://${host}/`).hostname;

test.each([
  '127.0.0.1',
  '127.1',
  '2130706433', // 127.0.0.1 as one number
  '0x7f000001',
  '0177.0.0.1',
  '0x7f.1',
  '127.0.0.1.',
  '0.0.0.0',
  '10.255.255.255',
  '100.64.0.1',
  '100.127.255.255',
  '169.254.169.254',
  '0xa9fea9fe', // the same, cloud metadata
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '192.0.0.192',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:a9fe:a9fe]',
  '[::127.0.0.1]',
  '[64:ff9b::10.0.0.1]',
  '[2002:7f00:1::]',
  '[2001::1]',
  '[2001:db8::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[fec0::1]',
  '[ff02::1]',
  '[3fff:fff::1]',
  '[64:ff9b:1::8.8.8.8]',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'localhost..',
  'redis.',
  'api.localhost',
  'redis',
  'printer.local',
  'metadata.google.internal',
])('host %s is private', (host) => {
  expect(isPrivateHost(hostOf(host))).toBe(true);
});

test.each([
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.169.0.0',
  '223.255.255.255',
  '[2606:4700::1111]',
  '[::ffff:8.8.8.8]',
  '[64:ff9b::8.8.8.8]',
  '[2002:808:808::]',
  'api.openai.com',
  'api.openai.com.',
  'localhost.example.com',
])('host %s is public', (host) => {
  expect(isPrivateHost(hostOf(host))).toBe(false);
});

test.each([
  '127.0.0.1',
  '10.1.2.3',
  '169.254.169.254',
  '100.64.0.1',
  '0.0.0.0',
  '::1',
  '::',
  '::ffff:127.0.0.1',
  '::ffff:a9fe:a9fe',
  '0:0:0:0:0:ffff:10.0.0.1',
  '64:ff9b::169.254.169.254',
  '2002:a9fe:a9fe::1',
  'fe80::1%eth0',
  '2606:4700::1111%eth0',
  'FD00::1',
  'fd00:ec2::254',
  '',
  'localhost',
  '0177.0.0.1',
  '127.1',
])('a name that resolves to "%s" is private', (ip) => {
  expect(isPrivateAddress(ip)).toBe(true);
});

test.each(['8.8.8.8', '2606:4700::1111', '2606:4700:0:0:0:0:0:1111', '::ffff:8.8.8.8', '64:ff9b::8.8.8.8'])(
  'a name that resolves to %s is public',
  (ip) => {
    expect(isPrivateAddress(ip)).toBe(false);
  },
);
