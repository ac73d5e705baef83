import { expect, test } from '@jest/globals';
import { gatewayError } from '@gateway/contracts/errors';
import { PassThrough } from 'node:stream';
import { answerBrokenRequest } from './answer-broken-request.js';
import type { ClientConnection } from './client-connections.js';

const ID = '01900000-0000-7000-8000-000000000000';
const HEADLESS = {
  newId: () => ID,
  styleOf: () => 'chat' as const,
  noEndpoint: gatewayError('unsupported_endpoint'),
};
const IDS = ['x-gateway-request-id', ID, 'x-request-id', ID];

type Last = NonNullable<ClientConnection['last']>;

function answerTo(
  code: string,
  last: Partial<Last> | null = null,
): { text: string; isDestroyed: boolean; did: string[] } {
  const socket = new PassThrough();
  const did: string[] = [];
  const spied = {
    ids: IDS,
    closeConnection: () => void did.push('closes after its answer'),
    endAtOnce: () => void did.push('ends'),
    style: 'chat' as const,
    endUnread: (status: number, body: Buffer) => void did.push(`answers ${status} ${JSON.parse(body.toString()).type}`),
    ...last,
  };
  const connection = { last: last === null ? null : (spied as Last) };
  answerBrokenRequest(socket, Object.assign(new Error(code), { code }), connection, HEADLESS);
  const text = String(socket.read() ?? '');
  const isDestroyed = socket.destroyed;
  socket.destroy();
  return { text, isDestroyed, did };
}

test.each([
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['HPE_INVALID_METHOD', '400 Bad Request'],
])('%s is answered with %s in the chat envelope and both IDs', (code, status) => {
  const { text } = answerTo(code);
  expect(text.startsWith(`HTTP/1.1 ${status}\r\n`)).toBe(true);
  expect(text).toContain(`x-gateway-request-id: ${ID}\r\nx-request-id: ${ID}\r\n`);
  const [head = '', body = ''] = text.split('\r\n\r\n');
  expect(head).toContain(`content-length: ${Buffer.byteLength(body)}`);
  expect(JSON.parse(body).error).toMatchObject({ code: 'invalid_request', request_id: ID });
});

test('a reset connection is destroyed without a response', () => {
  expect(answerTo('ECONNRESET')).toEqual({ text: '', isDestroyed: true, did: [] });
});

test.each<[string, Partial<Last>, string]>([
  ['after a complete request', { isRequestComplete: true, hasBegun: true }, 'closes after its answer'],
  ['after a waiting request', { isRequestComplete: true, hasBegun: false }, 'closes after its answer'],
  ['in the body of an answered request', { isRequestComplete: false, hasBegun: true }, 'ends'],
  ['in an unanswered body', { isRequestComplete: false, hasBegun: false }, 'answers 400 undefined'],
  ['in a messages body', { isRequestComplete: false, hasBegun: false, style: 'messages' }, 'answers 400 error'],
])('a parse error %s leads to the right end of the connection', (_where, last, does) => {
  expect(answerTo('HPE_INVALID_METHOD', last)).toEqual({ text: '', isDestroyed: false, did: [does] });
});
