import { expect } from '@jest/globals';
import { CHAT, COUNT_TOKENS, MESSAGES, modelCall, send, styleOf } from './contract-call.js';
import type { ContractCase } from './contract-case.js';
import { expectRefusal } from './contract-raw-refusal.js';
import { requestRaw, rawRequest } from './raw-http.js';

/**
 * Request lines that match no endpoint. Paths are compared exactly: case, slashes and encodings
 * count.
 */
const NO_ENDPOINTS = [
  'HEAD /v1/chat/completions',
  'HEAD /v1/models',
  'HEAD /api/gateway/config',
  'OPTIONS /v1/chat/completions',
  'OPTIONS /v1/models',
  'OPTIONS /v1/messages',
  'OPTIONS *',
  'PUT /v1/chat/completions',
  'PATCH /v1/messages',
  'TRACE /v1/models',
  'POST /V1/chat/completions',
  'POST /v1/Chat/Completions',
  'POST /v1/chat/completions/',
  'POST //v1/chat/completions',
  'POST /v1//chat/completions',
  'POST /v1/chat/./completions',
  'POST /v1/x/../chat/completions',
  'POST /v1/chat%2Fcompletions',
  'POST /v1/chat/completion%73',
  'POST /%761/chat/completions',
  'POST /v1/messages/',
  'POST /v1/messages/count_tokens/',
  'POST http://gateway.example/v1/chat/completions',
  'GET https://gateway.example/v1/models',
  'GET /v1/models/',
  'GET /v1/messages',
  'GET /v1/messages/count_tokens',
  'GET /v1/%zz',
  'FETCH /v1/models',
  'get /v1/models',
] as const;

/** Invalid HTTP requests. The response uses the chat envelope and the code invalid_request. */
const NO_REQUESTS: readonly (readonly [string, string, number])[] = [
  ['another protocol', 'hello\r\n\r\n', 400],
  ['a header without a name', 'GET /v1/models HTTP/1.1\r\n: x\r\n\r\n', 400],
  ['two lengths', `POST ${CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}`, 400],
  [
    'a length and chunks',
    `POST ${CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
  ['headers of 40 KB', `GET /v1/models HTTP/1.1\r\nx-long: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
];

export const PATH_CASES: readonly ContractCase[] = [
  {
    title: 'only the exact method and path match: 404 unsupported_endpoint',
    covers: [
      'errors: 404 unsupported_endpoint',
      'endpoints: sentence 1 all endpoints below except',
      'versioning: sentence 2 paths under /v1 not',
      'error object: error.request_id',
    ],
    async run(world) {
      const { secret } = world.rich;
      const headers = { authorization: `Bearer ${secret}`, origin: 'https://browser.example' };
      await Promise.all(
        NO_ENDPOINTS.map(async (line) => {
          const answer = await requestRaw(world.url, rawRequest(line, headers));
          const [method = '', path = ''] = line.split(' ');
          expectRefusal(line, answer, 404, 'unsupported_endpoint', styleOf(path) === 'messages', method === 'HEAD');
        }),
      );
    },
  },
  {
    title: 'an invalid HTTP request is refused with both IDs and the chat envelope',
    covers: ['errors: x-gateway-request-id', 'errors: x-request-id', 'errors: sentence 1 on chat completions style'],
    async run(world) {
      await Promise.all(
        NO_REQUESTS.map(async ([what, bytes, status]) => {
          expectRefusal(what, await requestRaw(world.url, bytes), status, 'invalid_request', false, false);
        }),
      );
      const tunnel = await requestRaw(world.url, rawRequest('CONNECT gateway.example:443', {}));
      expectRefusal('CONNECT', tunnel, 404, 'unsupported_endpoint', false, false);
    },
  },
  {
    title: 'a query does not change the endpoint: ?beta=true reaches the provider',
    covers: ['endpoints: POST /v1/messages', 'endpoints: POST /v1/messages/count_tokens'],
    async run(world) {
      const model = await world.makeModel();
      for (const [path, query] of [
        [MESSAGES, '?beta=true'],
        [COUNT_TOKENS, '?beta=true'],
        [CHAT, '?anything=1&x'],
        [CHAT, '?'],
      ] as const) {
        const call = modelCall(path, world.rich.secret, model.id);
        const answer = await send(world.url, { ...call, path: path + query });
        expect([path, answer.status]).toEqual([path, 200]);
      }
      const paths = world.simulator.calls({ model: model.upstream }).map((call) => call.path);
      expect(paths.slice(0, 2).map((path) => path.split('?')[1] ?? '')).toEqual(['beta=true', 'beta=true']);
      expect((await send(world.url, { path: '/v1/models?limit=1000&x=', secret: world.rich.secret })).status).toBe(200);
    },
  },
];
