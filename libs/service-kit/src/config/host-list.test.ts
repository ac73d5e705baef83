import { expect, test } from '@jest/globals';
import { changeUrl, splitUrl } from '../network-address.js';

test('urlsOf() returns one URL per server with the shared parts', () => {
  expect(splitUrl('postgres://u:p,w@a:1,b:2,c/db?x=1,2')).toEqual([
    'postgres://u:p,w@a:1/db?x=1,2',
    'postgres://u:p,w@b:2/db?x=1,2',
    'postgres://u:p,w@c/db?x=1,2',
  ]);
  expect(splitUrl('nats://a:1, b:2')).toEqual(['nats://a:1', 'nats://b:2']);
});

test.each(['redis://:a,b@host:1', 'postgres://u@[::1]:2/db', 'nothing', ''])(
  'urlsOf() keeps the URL of one server: %s',
  (url) => {
    expect(splitUrl(url)).toEqual([url]);
  },
);

test('changeUrl() changes the shared parts of all servers', () => {
  const change = (url: URL): void => {
    url.username = 'other';
    url.pathname = '/own';
    url.searchParams.set('x', '1');
  };
  expect(changeUrl('postgres://u:p@a:1,b:2/db', change)).toBe('postgres://other:p@a:1,b:2/own?x=1');
  expect(changeUrl('postgres://u:p@a:1/db', change)).toBe('postgres://other:p@a:1/own?x=1');
  expect(() => changeUrl('no url', change)).toThrow('Invalid URL');
});
