import { expect } from '@jest/globals';
import { CHAT, LEAST_BODY, MESSAGES, modelCall, send } from './contract-call.js';
import type { ContractCase } from './contract-case.js';
import { expectRefusal } from './contract-raw-refusal.js';
import { requestRaw, rawRequest } from './raw-http.js';

export const HEADER_CASES: readonly ContractCase[] = [
  {
    title: 'no response has CORS headers: preflight, refused and successful requests',
    covers: [
      'what the service does: sentence 10 the service sends no',
      'authentication: rule 7 keys must not be',
      'limits: rule 9 there are no x',
    ],
    async run(world) {
      const browser = {
        origin: 'https://browser.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, content-type',
        'sec-fetch-mode': 'cors',
      };
      const { secret } = world.rich;
      const cors = await world.scripted([
        {
          status: 200,
          headers: {
            'content-type': 'application/json',
            'access-control-allow-origin': '*',
            'x-ratelimit-limit-requests': '1',
          },
        },
      ]);
      const calls = [
        modelCall(CHAT, secret, world.model.id),
        modelCall(CHAT, secret, world.model.id, { stream: true }),
        modelCall(CHAT, secret, cors.id),
        modelCall(CHAT, null, world.model.id),
        modelCall(MESSAGES, secret, 'nobody/nothing'),
        { path: '/v1/models', secret },
        { path: '/v1/gateway/usage', secret },
        { path: '/api/gateway/config', secret: null },
        { path: '/nowhere', secret: null },
      ];
      // `send` rejects responses with CORS or rate-limit headers.
      const answers = await Promise.all(calls.map((call) => send(world.url, { ...call, headers: browser })));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 401, 404, 200, 200, 200, 404]);
      const preflight = await requestRaw(world.url, rawRequest(`OPTIONS ${CHAT}`, browser));
      expectRefusal('preflight', preflight, 404, 'unsupported_endpoint', false, false);
    },
  },
  {
    title: 'x-request-id returns the client’s ID unchanged; the gateway’s ID is its own',
    covers: ['errors: x-gateway-request-id', 'errors: x-request-id'],
    async run(world) {
      const ids = new Set<string>();
      for (const own of ['0', 'with space', 'a'.repeat(500), '{"json":true}']) {
        const headers = { 'x-request-id': own, 'x-gateway-request-id': 'forged' };
        for (const call of [
          { path: '/api/gateway/config', secret: null },
          modelCall(CHAT, null, world.model.id),
          modelCall(MESSAGES, world.rich.secret, world.model.id, { stream: true }),
        ]) {
          ids.add((await send(world.url, { ...call, headers })).id);
        }
      }
      expect(ids.size).toBe(12);
      // Non-ASCII bytes are returned unchanged. An empty ID counts as absent.
      for (const [own, echoed] of [
        ['caf\u00e9 \u00ff', 'caf\u00e9 \u00ff'],
        ['', null],
      ] as const) {
        const request = rawRequest('GET /api/gateway/config', { 'x-request-id': own });
        const { headers } = await requestRaw(world.url, Buffer.from(request, 'latin1'));
        expect(headers['x-request-id']).toBe(echoed ?? headers['x-gateway-request-id']);
      }
    },
  },
  {
    title: 'a body of 10 MB is accepted, with a length or in chunks; one more byte is 413',
    covers: ['limits: rule 4 request body maximum 10', 'errors: 413 request_entity_too_large'],
    async run(world) {
      const whole = `{"model":"${world.model.id}","messages":${JSON.stringify((LEAST_BODY[CHAT] as { messages: object }).messages)},"pad":"`;
      const bodyOf = (bytes: number): string => `${whole}${'x'.repeat(bytes - whole.length - 2)}"}`;
      const head = { authorization: `Bearer ${world.rich.secret}`, 'content-type': 'application/json' };
      for (const [bytes, status] of [
        [10_485_760, 200],
        [10_485_761, 413],
      ] as const) {
        const body = bodyOf(bytes);
        const sent = status === 413 ? '' : body;
        const length = { 'content-length': String(bytes) };
        const announced = await requestRaw(world.url, rawRequest(`POST ${CHAT}`, { ...head, ...length }) + sent);
        const chunks = `${rawRequest(`POST ${CHAT}`, { ...head, 'transfer-encoding': 'chunked' })}${bytes.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
        const chunked = await requestRaw(world.url, chunks);
        expect([bytes, announced.status, chunked.status]).toEqual([bytes, status, status]);
        if (status === 413) expectRefusal('announced', announced, 413, 'request_entity_too_large', false, false);
      }
    },
  },
];
