import { expect, test } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { ResponseReader } from './response-reader.js';

const sized = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"a":"b\\n"}';
const chunked =
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ndata: 1\n\r\n10;x=y\r\n\ndata: [DONE]\n\n\n\r\n0\r\nx: y\r\n\r\n';

test.each([
  ['with a length', sized, 11, '{"a":"b\\n"}'],
  ['in chunks', chunked, 24, 'data: 1\n\ndata: [DONE]'],
])('reads a response %s however its bytes are split', (_title, answer, bodyBytes, tail) => {
  const bytes = Buffer.from(answer);
  for (let first = 1; first < bytes.length - 1; first += 1) {
    for (let second = first + 1; second < bytes.length; second += 7) {
      const reader = new ResponseReader();
      reader.begin();
      expect(reader.push(bytes.subarray(0, first))).toBe(false);
      expect(reader.push(bytes.subarray(first, second))).toBe(false);
      expect(reader.push(bytes.subarray(second))).toBe(true);
      expect(reader).toMatchObject({ status: 200, bodyBytes, tail, closes: false });
    }
  }
});

test('reads several responses with one reader', () => {
  const reader = new ResponseReader();
  for (const [answer, status] of [
    ['HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nConnection: close\r\n\r\n', 503],
    [chunked, 200],
    [`HTTP/1.1 100 Continue\r\n\r\n${sized}`, 200],
  ] as const) {
    reader.begin();
    expect(reader.push(Buffer.from(answer))).toBe(true);
    expect(reader.status).toBe(status);
    expect(reader.closes).toBe(status === 503);
  }
});

test('reads an encoded response however its bytes are split', () => {
  const body = gzipSync(`{"a":"${'b'.repeat(2_000)}"}`);
  const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`;
  const bytes = Buffer.concat([Buffer.from(head), body]);
  const reader = new ResponseReader();
  for (let cut = 1; cut < bytes.length; cut += 1) {
    reader.begin();
    expect(reader.push(bytes.subarray(0, cut))).toBe(false);
    expect(reader.push(bytes.subarray(cut))).toBe(true);
    expect(reader).toMatchObject({ status: 200, bodyBytes: 2_008 });
    expect(reader.tail).toMatch(/^b+"\}$/);
  }
  reader.begin();
  expect(reader.push(Buffer.from(sized))).toBe(true);
  expect(reader).toMatchObject({ bodyBytes: 11, tail: '{"a":"b\\n"}' });
});

test('does not complete a response without its last byte', () => {
  for (const answer of [sized, chunked]) {
    const reader = new ResponseReader();
    reader.begin();
    expect(reader.push(Buffer.from(answer.slice(0, -1)))).toBe(false);
  }
});

test.each([
  ['another protocol', 'SSH-2.0 server\r\n\r\n'],
  ['no length', 'HTTP/1.1 200 OK\r\n\r\n'],
  ['a chunk without a size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'],
  ['bytes after the end', `${sized}x`],
  ['invalid gzip', sized.replace('Content-Type: application/json', 'Content-Encoding: gzip')],
  ['a head without end', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(70_000)}`],
])('throws for a response with %s', (_title, answer) => {
  const reader = new ResponseReader();
  reader.begin();
  expect(() => reader.push(Buffer.from(answer))).toThrow();
});
