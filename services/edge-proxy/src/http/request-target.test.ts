import { expect, test } from '@jest/globals';
import { pathAndQuery } from './request-target.js';

test.each([
  ['/v1/models?a=http://x/y', '/v1/models?a=http://x/y'],
  ['http://127.0.0.1:8080/v1/models', '/v1/models'],
  ['HTTPS://user:pass@gateway.example/v1/models?a=b/c', '/v1/models?a=b/c'],
  ['http://x//v1/models', '//v1/models'],
  ['http://x', '/'],
  ['http://x?a=/v1/models', '/?a=/v1/models'],
  ['//x/v1/models', '//x/v1/models'],
  ['ftp://x/v1/models', 'ftp://x/v1/models'],
  ['*', '*'],
  ['', ''],
])('target %s is %s', (target, expected) => {
  expect(pathAndQuery(target)).toBe(expected);
});
