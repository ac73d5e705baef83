import { expect, test } from '@jest/globals';
import { PassThrough } from 'node:stream';
import { answerBrokenRequest } from './answer-broken-request.js';

const ID = '01900000-0000-7000-8000-000000000000';

function answerTo(code: string, hasBegun = false): { text: string; isDestroyed: boolean } {
  const socket = new PassThrough();
  answerBrokenRequest(
    socket,
    Object.assign(new Error(code), { code }),
    ['x-gateway-request-id', ID, 'x-request-id', ID],
    hasBegun,
  );
  return { text: String(socket.read() ?? ''), isDestroyed: socket.destroyed };
}

test.each([
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['HPE_INVALID_METHOD', '400 Bad Request'],
])('%s is answered %s in the chat envelope with both ids', (code, status) => {
  const { text } = answerTo(code);
  expect(text.startsWith(`HTTP/1.1 ${status}\r\n`)).toBe(true);
  expect(text).toContain(`x-gateway-request-id: ${ID}\r\nx-request-id: ${ID}\r\n`);
  const [head = '', body = ''] = text.split('\r\n\r\n');
  expect(head).toContain(`content-length: ${Buffer.byteLength(body)}`);
  expect(JSON.parse(body).error).toMatchObject({ code: 'invalid_request', request_id: ID });
});

test.each([
  ['ECONNRESET', false],
  ['HPE_INVALID_METHOD', true],
])('%s says nothing more when nobody listens or an answer is on its way', (code, hasBegun) => {
  expect(answerTo(code, hasBegun)).toEqual({ text: '', isDestroyed: true });
});
