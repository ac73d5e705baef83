import { expect, test } from '@jest/globals';
import { readBrokenHead } from './broken-head.js';

/** Reads the head as Node reports it. The "|" is where the parser stopped. */
function read(marked: string, code = 'HPE_INVALID_HEADER_TOKEN', reason = ''): ReturnType<typeof readBrokenHead> {
  const rawPacket = Buffer.from(marked.replace('|', ''), 'latin1');
  return readBrokenHead(Object.assign(new Error(code), { code, reason, rawPacket, bytesParsed: marked.indexOf('|') }));
}

const idOf = (headers: string): string | undefined => read(`GET /x HTTP/1.1\r\nbad |header: 1\r\n${headers}`).requestId;

test.each<[string, string, string | undefined]>([
  ['any case, space around it', 'X-REQUEST-ID: \t a b\xe9\t \r\n\r\n', 'a b\xe9'],
  ['the first of two', 'x-request-id:1\r\nx-request-id:2\r\n\r\n', '1'],
  ['an empty one', 'x-request-id: \r\n\r\n', undefined],
  ['one of another name', 'x-request-id-2: a\r\nx-request-i: b\r\n\r\n', undefined],
  ['after the head', 'a: b\r\n\r\nx-request-id: body\r\n', undefined],
  ['an incomplete line', 'x-request-id: hal', undefined],
  ['a bare line feed in it', 'x-request-id: a\nset-cookie: b\r\n\r\n', undefined],
  ['a bare return in it', 'x-request-id: a\rset-cookie: b\r\n\r\n', undefined],
  ['NUL in it', 'x-request-id: a\0\r\n\r\n', undefined],
  ['DEL in it', 'x-request-id: a\x7f\r\n\r\n', undefined],
  ['beyond the scanned bytes', `a: ${'x'.repeat(16 * 1024)}\r\nx-request-id: far\r\n\r\n`, undefined],
])('readBrokenHead() handles an x-request-id header: %s', (_name, headers, id) => {
  expect(idOf(headers)).toBe(id);
});

test.each<[string, string, string, string]>([
  ['the method', '|post /v1/models?a HTTP/1.1\r\n\r\n', 'HPE_INVALID_METHOD', '/v1/models'],
  ['the path', 'GET /v1/|\xe9 HTTP/1.1\r\n\r\n', 'HPE_INVALID_URL', '/v1/\xe9'],
  ['a method after a complete request', 'GET /a HTTP/1.1\r\n\r\n|post /b HTTP/1.1\r\n\r\n', 'HPE_INVALID_METHOD', '/b'],
])('readBrokenHead() reports no endpoint when %s is invalid', (_name, marked, code, path) => {
  expect(read(marked, code)).toMatchObject({ path, isNoEndpoint: true });
});

test.each([
  ['TLS', '|\x16\x03\x01 \x02'],
  ['a word', 'HE|LLO\r\n\r\n'],
  ['the remaining bytes of a body', 'POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}|{"a": 1}'],
])('readBrokenHead() reports no method for %s', (_name, marked) => {
  expect(read(marked, 'HPE_INVALID_METHOD')).toEqual({ requestId: undefined, path: '', isNoEndpoint: false });
});

test('readBrokenHead() reads the ID of the broken request among pipelined ones', () => {
  const one = 'GET /a HTTP/1.1\r\nx-request-id: one\r\n\r\n';
  expect(read(`${one}GET /b HTTP/1.1\r\nbad |h: 1\r\nx-request-id: two\r\n\r\n`)).toEqual({
    requestId: 'two',
    path: '/b',
    isNoEndpoint: false,
  });
  expect(read(`${one}|foo / HTTP/1.1\r\n\r\n`, 'HPE_INVALID_METHOD').requestId).toBeUndefined();
});

test('RTSP methods are unsupported, and an error without bytes has no details', () => {
  const reason = 'Invalid method for HTTP/x.x request';
  expect(read('SETUP /a HTTP|/1.1\r\n\r\n', 'HPE_INVALID_CONSTANT', reason).isNoEndpoint).toBe(true);
  expect(read('GET /a b| HTTP/1.1\r\n\r\n', 'HPE_INVALID_CONSTANT').isNoEndpoint).toBe(false);
  expect(readBrokenHead(new Error('late'))).toEqual({ requestId: undefined, path: '', isNoEndpoint: false });
});
