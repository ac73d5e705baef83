import { expect, test } from '@jest/globals';
import { changeUrl, urlsOf } from './host-list.js';

test('a URL of several servers gives one for each, with what they share', () => {
  expect(urlsOf('postgres://u:p,w@a:1,b:2,c/db?x=1,2')).toEqual([
    'postgres://u:p,w@a:1/db?x=1,2',
    'postgres://u:p,w@b:2/db?x=1,2',
    'postgres://u:p,w@c/db?x=1,2',
  ]);
  expect(urlsOf('nats://a:1, b:2')).toEqual(['nats://a:1', 'nats://b:2']);
});

test.each(['redis://:a,b@host:1', 'postgres://u@[::1]:2/db', 'nothing', ''])('one server stays as it is: %s', (url) => {
  expect(urlsOf(url)).toEqual([url]);
});

test('what servers share is changed once for all', () => {
  const change = (url: URL): void => {
    url.username = 'other';
    url.pathname = '/own';
    url.searchParams.set('x', '1');
  };
  expect(changeUrl('postgres://u:p@a:1,b:2/db', change)).toBe('postgres://other:p@a:1,b:2/own?x=1');
  expect(changeUrl('postgres://u:p@a:1/db', change)).toBe('postgres://other:p@a:1/own?x=1');
  expect(() => changeUrl('no url', change)).toThrow('Invalid URL');
});
