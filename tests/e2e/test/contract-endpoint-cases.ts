import { expect } from '@jest/globals';
import { gatewayConfig } from '@gateway/contracts/public';
import type { ContractCase } from './contract-case.js';
import { COUNT_TOKENS, LEAST_BODY, expectError, jsonOf, modelCall, send, styleOf } from './contract-call.js';
import { kindFor } from './contract-world.js';
import type { ContractSystem } from './contract-world.js';

/**
 * A field that identifies the responses of each model endpoint, and the end of its streams. Null:
 * the endpoint does not stream.
 */
const MODEL_ENDPOINTS = [
  {
    path: '/v1/chat/completions',
    mark: { object: 'chat.completion' },
    end: /data: \[DONE\]\n\n$/,
    requests: 'Chat completion',
  },
  {
    path: '/v1/completions',
    mark: { object: 'text_completion' },
    end: /data: \[DONE\]\n\n$/,
    requests: 'Legacy completion',
  },
  {
    path: '/v1/messages',
    mark: { type: 'message' },
    end: /event: message_stop\ndata: \{"type":"message_stop"\}\n\n$/,
    requests: 'Messages',
  },
  { path: COUNT_TOKENS, mark: { input_tokens: expect.any(Number) }, end: null, requests: null },
  { path: '/v1/embeddings', mark: { object: 'list' }, end: null, requests: null },
  {
    path: '/v1/responses',
    mark: { object: 'response' },
    end: /event: response\.completed\ndata: .*\n\n$/,
    requests: 'Responses',
  },
] as const;

/**
 * Spaces, an unknown field, a number that does not fit a double, an escape: the body is only equal
 * if no part is rewritten.
 */
/** Fields that make the body a valid response of each endpoint. */
const ANSWER_FIELDS = '"choices":[{"finish_reason":"stop"}],"content":[],"data":[],"output":[]';
const ODD_FIELDS = String.raw` "vendor" : { "a\u0062" : 12345678901234567890, "b":1.0e-7 } ,"last" : null }`;

const plain: readonly ContractCase[] = MODEL_ENDPOINTS.map(({ path, mark }) => ({
  title: `POST ${path}: 200 in the provider's format, byte for byte`,
  covers: [
    `endpoints: POST ${path}`,
    'what the service does: sentence 1 the service forwards requests',
    'request objects: sentence 2 response bodies of model',
    'errors: x-gateway-request-id',
    'errors: x-request-id',
  ],
  async run(world: ContractSystem) {
    const answer = await send(world.url, {
      ...modelCall(path, world.rich.secret, world.modelFor(path).id),
      headers: { 'x-request-id': 'of the client/1' },
    });
    expect([answer.status, jsonOf(answer)]).toEqual([200, expect.objectContaining(mark)]);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(answer.headers['request-id']).toBe(styleOf(path) === 'messages' ? answer.id : undefined);

    const body = `{"usage":{"prompt_tokens":1,"completion_tokens":1,"input_tokens":1,"output_tokens":1},"input_tokens":1,${ANSWER_FIELDS},${ODD_FIELDS}`;
    const scripted = await world.scripted(
      [{ status: 200, headers: { 'content-type': 'application/json' } }, { chunk: body }],
      kindFor(path),
    );
    const passed = await send(world.url, modelCall(path, world.rich.secret, scripted.id));
    expect([passed.status, passed.text]).toEqual([200, body]);
  },
}));

const streamed: readonly ContractCase[] = MODEL_ENDPOINTS.filter(({ end }) => end !== null).map(
  ({ path, end, requests }) => ({
    title: `POST ${path} with stream: server-sent events end like the provider's`,
    covers: [
      `endpoints: POST ${path}`,
      'events: sentence 1 streaming with stream true',
      `request objects: ${requests} stream`,
    ],
    async run(world: ContractSystem) {
      const answer = await send(world.url, modelCall(path, world.rich.secret, world.model.id, { stream: true }));
      expect([answer.status, answer.cut, answer.headers['content-type']]).toEqual([
        200,
        false,
        expect.stringMatching(/^text\/event-stream/),
      ]);
      expect(answer.text).toMatch(end ?? /$^/);
      const refused = await send(world.url, modelCall(path, world.rich.secret, world.model.id, { stream: 'yes' }));
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('"stream')]);
    },
  }),
);

/** Unknown paths and methods. All responses use the chat envelope without a request ID. */
const NO_ENDPOINTS = [
  ['GET', '/v1'],
  ['GET', '/v1/'],
  ['POST', '/v1/models'],
  ['GET', '/v1/chat/completions'],
  ['DELETE', '/v1/models/openai/gpt'],
  ['POST', '/v1/audio/speech'],
  ['POST', '/v1/gateway/usage'],
  ['POST', '/api/gateway/config'],
  ['POST', '/chat/completions'],
  ['POST', '/messages'],
  ['POST', '/v1/v1/messages'],
  ['GET', '/'],
] as const;

const others: readonly ContractCase[] = [
  {
    title: 'unknown paths and methods: 404 unsupported_endpoint before the key is checked',
    covers: [
      'endpoints: sentence 1 all endpoints below except',
      'endpoints: sentence 3 key management endpoints create',
      'versioning: sentence 1 the api is versioned',
      'versioning: sentence 2 paths under /v1 not',
      'errors: 404 unsupported_endpoint',
    ],
    async run(world) {
      const keyPaths = ['/v1/keys', '/v1/api-keys', '/api/gateway/keys'].map((path) => ['POST', path] as const);
      for (const [method, path] of [...NO_ENDPOINTS, ...keyPaths]) {
        const answer = await send(world.url, { method, path, secret: null });
        expectError(answer, 'chat', {
          status: 404,
          code: 'unsupported_endpoint',
          type: 'invalid_request_error',
          messagesType: 'not_found_error',
          message: new RegExp(`${world.system.chatBaseUrl}.*${world.url} `),
        });
      }
    },
  },
  {
    title: 'every endpoint under /v1 needs a key: 401 missing_api_key',
    covers: [
      'endpoints: sentence 1 all endpoints below except',
      'what the service does: sentence 2 one platform key authenticates',
      'authentication: rule 1 every request to /v1',
      'authentication: 401 missing_api_key',
    ],
    async run(world) {
      const calls = MODEL_ENDPOINTS.map(({ path }) => modelCall(path, null, world.model.id));
      const lists = ['/v1/models', '/v1/gateway/usage'].map((path) => ({ path, secret: null }));
      for (const call of [...calls, ...lists]) {
        const type = 'authentication_error';
        const expected = { status: 401, code: 'missing_api_key', type, messagesType: type };
        expectError(await send(world.url, call), styleOf(call.path), expected);
      }
    },
  },
  {
    title: 'GET /api/gateway/config is public and returns working base URLs',
    covers: [
      'endpoints: GET /api/gateway/config',
      'gateway config object: chatBaseUrl',
      'gateway config object: messagesBaseUrl',
      'what the service does: sentence 3 chat completions style base',
      'what the service does: sentence 4 messages style base url',
    ],
    async run(world) {
      const answer = await send(world.url, { path: '/api/gateway/config', secret: null });
      const config = gatewayConfig.strict().parse(jsonOf(answer));
      expect([config.chatBaseUrl, config.messagesBaseUrl]).toEqual([
        expect.stringMatching(/[^/]\/v1$/),
        expect.not.stringMatching(/\/(v1)?$/),
      ]);
      for (const path of ['/chat/completions', '/completions', '/responses', '/embeddings']) {
        const { id } = world.modelFor(`/v1${path}`);
        const call = modelCall(path, world.rich.secret, id, LEAST_BODY[`/v1${path}`]);
        expect((await send(config.chatBaseUrl, call)).status).toBe(200);
      }
      expect((await send(config.chatBaseUrl, { path: '/models', secret: world.rich.secret })).status).toBe(200);
      const message = modelCall('/v1/messages', world.rich.secret, world.model.id);
      expect((await send(config.messagesBaseUrl, message)).status).toBe(200);
      expect((await send(config.chatBaseUrl, message)).status).toBe(404);
    },
  },
];

export const ENDPOINT_CASES: readonly ContractCase[] = [...plain, ...streamed, ...others];
