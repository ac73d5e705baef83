import { expect, test } from '@jest/globals';
import { checkWebhookUrl } from './handlers.js';

const PRIVATE = [
  'https://127.0.0.1/',
  'https://127.1/',
  'https://2130706433/',
  'https://0x7f.0.0.1/',
  'https://0177.0.0.1/',
  'https://0.0.0.0/',
  'https://10.1.2.3/',
  'https://172.16.0.1/',
  'https://192.168.1.1:8443/',
  'https://100.64.0.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://[::1]/',
  'https://[::]/',
  'https://[::ffff:169.254.169.254]/',
  'https://[::ffff:a9fe:a9fe]/',
  'https://[fd00:ec2::254]/',
  'https://[fe80::1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[2002:7f00:1::]/',
  'https://localhost/',
  'https://LOCALHOST./',
  'https://api.localhost/',
  'https://metadata.google.internal/',
  'https://metadata/',
  'https://printer.lan/',
  'https://１２７.0.0.1/',
];
test.each(PRIVATE)('%s is refused, unless private addresses are allowed', (url) => {
  expect(checkWebhookUrl(url, false)).toMatchObject({ refused: { code: 'invalid_request', param: 'url' } });
  expect(checkWebhookUrl(url, true)).toBe(new URL(url).href);
});

test.each([
  'no url',
  '/path',
  'ftp://example.com/',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'https://user@example.com/',
  'https://user:password@example.com/',
  'https://example.com/#part',
  'http://example.com/',
  'http://1.1.1.1/',
  `https://example.com/${'é'.repeat(700)}`,
])('%s is always refused', (url) => {
  for (const allowed of [false, true])
    expect(checkWebhookUrl(url, allowed)).toMatchObject({ refused: { code: 'invalid_request', param: 'url' } });
});

test.each([
  ['https://example.com', 'https://example.com/'],
  ['https://Example.com:443/a/../b?key=1&x=%20', 'https://example.com/b?key=1&x=%20'],
  ['https://1.1.1.1:8443/hook', 'https://1.1.1.1:8443/hook'],
  ['https://[2606:4700:4700::1111]/hook', 'https://[2606:4700:4700::1111]/hook'],
])('%s is stored as %s', (url, kept) => {
  expect(checkWebhookUrl(url, false)).toBe(kept);
});
