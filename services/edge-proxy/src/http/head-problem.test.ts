import { expect, test } from '@jest/globals';
import { findHeadProblem } from './broken-head.js';

const HEADERS_MAX = 3;

test.each<[string, string, string[], number | null]>([
  ['the maximum number of headers', '1.1', ['host', '1', 'b', '2', 'c', '3'], null],
  ['one header too many', '1.1', ['a', '1', 'b', '2', 'c', '3', 'd', '4'], 431],
  ['HTTP/1.0', '1.0', ['host', 'x'], null],
  ['HTTP/1.0 without a host', '1.0', [], null],
  ['HTTP/1.1 without a host', '1.1', ['a', '1'], 400],
  ['HTTP/1.1 with an empty host', '1.1', ['Host', ''], null],
  ['HTTP/0.9', '0.9', [], 400],
  ['HTTP/2.0', '2.0', [], 400],
  ['a chunked body', '1.1', ['host', 'x', 'Transfer-Encoding', 'Chunked'], null],
  ['a chunked body in HTTP/1.0', '1.0', ['Transfer-Encoding', 'chunked'], 400],
  ['another coding before chunked', '1.1', ['Transfer-Encoding', 'gzip, chunked'], 400],
  ['two hosts', '1.1', ['Host', 'a', 'hOST', 'a'], 400],
])('headProblem() judges %s', (_name, version, rawHeaders, status) => {
  expect(findHeadProblem(version, rawHeaders, HEADERS_MAX)?.status ?? null).toBe(status);
});
