import { expect } from '@jest/globals';
import type { ContractCase } from './contract-case.js';
import { NO_JSON, REQUESTS, WHOLE } from './contract-request-rows.js';
import type { RequestRow } from './contract-request-rows.js';
import { CHAT, LEAST_BODY, MESSAGES, expectError, jsonOf, modelCall, send, styleOf } from './contract-call.js';
import type { ContractCall } from './contract-call.js';
import { kindFor } from './contract-world.js';
import type { ContractSystem } from './contract-world.js';

export const REQUEST_CASES: readonly ContractCase[] = [
  ...REQUESTS.flatMap((row) => [refusedFields(row), forwardedFields(row)]),
  {
    title: '400 invalid_request: the body is not a JSON object with application/json',
    covers: ['errors: 400 invalid_request', 'request objects: sentence 1 all request bodies accept'],
    async run(world) {
      const model = await world.makeModel();
      const { secret } = world.rich;
      for (const path of [CHAT, MESSAGES, '/v1/embeddings']) {
        for (const [what, headers, text] of NO_JSON) {
          const body = typeof text === 'string' ? text.replaceAll('M', model.id) : text;
          await expectInvalid(world, { path, secret, headers, body }, undefined, what);
        }
        expect(world.simulator.calls({ model: model.upstream })).toEqual([]);
      }
      const whole = { secret, body: WHOLE.replaceAll('M', model.id) };
      expect((await send(world.url, { path: CHAT, ...whole })).status).toBe(200);
    },
  },
  {
    title: 'application/json is accepted with parameters and in capitals',
    covers: ['errors: 400 invalid_request'],
    async run(world) {
      for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset=UTF-8']) {
        const call = modelCall(CHAT, world.rich.secret, world.model.id);
        expect((await send(world.url, { ...call, headers: { 'content-type': type } })).status).toBe(200);
      }
    },
  },
  {
    title: 'prompts, inputs and system texts may be strings or arrays',
    covers: [
      'request objects: Legacy completion prompt',
      'request objects: Embeddings input',
      'request objects: Responses input',
      'request objects: Messages system',
    ],
    async run(world) {
      const forms = [
        ['/v1/completions', { prompt: ['one', 'two'] }],
        ['/v1/completions', { prompt: [1, 2, 3] }],
        ['/v1/embeddings', { input: ['one', 'two'] }],
        ['/v1/responses', { input: [{ role: 'user', content: 'hello' }] }],
        [MESSAGES, { system: 'short' }],
      ] as const;
      for (const [path, fields] of forms) {
        const { id } = world.modelFor(path);
        const answer = await send(world.url, modelCall(path, world.rich.secret, id, fields));
        expect([path, fields, answer.status]).toEqual([path, fields, 200]);
      }
    },
  },
  {
    title: 'a stream ends with a usage chunk only with stream_options.include_usage',
    covers: ['request objects: Chat completion stream_options', 'events: sentence 1 streaming with stream true'],
    async run(world) {
      const request = async (fields: object): Promise<string[]> => {
        const answer = await send(
          world.url,
          modelCall(CHAT, world.rich.secret, world.model.id, { stream: true, ...fields }),
        );
        return answer.text.trimEnd().split('\n\n');
      };
      const withUsage = await request({ stream_options: { include_usage: true } });
      expect(withUsage.at(-1)).toBe('data: [DONE]');
      expect(JSON.parse(withUsage.at(-2)?.slice(6) ?? '')).toMatchObject({
        choices: [],
        usage: { total_tokens: expect.any(Number) },
      });
      for (const fields of [{}, { stream_options: { include_usage: false } }, { stream_options: null }]) {
        expect((await request(fields)).filter((sseEvent) => sseEvent.includes('"usage":{'))).toEqual([]);
      }
    },
  },
  {
    title: 'the provider refuses an unsupported field: 400 invalid_request',
    covers: [
      'what the service does: sentence 5 the request body is',
      'errors: 400 invalid_request',
      'errors: sentence 2 on /v1/messages and /v1/messages/count_tokens',
    ],
    async run(world) {
      const message = 'Unsupported parameter: temperature.';
      const chunk = JSON.stringify({ error: { message, type: 'invalid_request_error' } });
      const steps = [{ status: 400, headers: { 'content-type': 'application/json' } }, { chunk }];
      const { id } = await world.scripted(steps);
      const chat = await send(world.url, modelCall(CHAT, world.rich.secret, id, { temperature: 9 }));
      expect([chat.status, jsonOf(chat)]).toMatchObject([400, { error: { code: 'invalid_request', message } }]);
      const messages = await send(world.url, modelCall(MESSAGES, world.rich.secret, id, { temperature: 9 }));
      expect([messages.status, jsonOf(messages)]).toMatchObject([400, { error: { code: 'invalid_request' } }]);
      expect(messages.text).not.toContain('temperature');
    },
  },
  {
    title: 'embeddings work only with embedding models',
    covers: ['request objects: Embeddings model', 'endpoints: POST /v1/embeddings'],
    async run(world) {
      // Their sources list every endpoint.
      const chatOnly = await world.makeModel();
      const embedding = await world.makeModel({ model: { kind: 'embedding' } });
      const refused = await send(world.url, modelCall('/v1/embeddings', world.rich.secret, chatOnly.id));
      expect([refused.status, jsonOf(refused)]).toMatchObject([
        400,
        { error: { code: 'endpoint_not_supported_for_model' } },
      ]);
      expect((await send(world.url, modelCall('/v1/embeddings', world.rich.secret, embedding.id))).status).toBe(200);
      const chat = await send(world.url, modelCall(CHAT, world.rich.secret, embedding.id));
      expect([chat.status, jsonOf(chat)]).toMatchObject([400, { error: { code: 'endpoint_not_supported_for_model' } }]);
    },
  },
];

function refusedFields({ request, path, required, wrong }: RequestRow): ContractCase {
  const fields = [...new Set([...Object.keys(required), ...Object.keys(wrong)])].filter((name) =>
    isListed(request, name),
  );
  return {
    title: `${request}: required fields and types of fields are checked`,
    covers: [
      ...fields.map((name) => `request objects: ${request} ${name}`),
      ...(path === CHAT ? ['limits: rule 5 chat completion n 1'] : []),
    ],
    async run(world) {
      const { secret } = world.rich;
      const calls: [string, ContractCall][] = [];
      const model = await world.makeModel(kindFor(path));
      const whole: Record<string, unknown> = { model: model.id, ...LEAST_BODY[path] };
      for (const [name, values] of Object.entries(required)) {
        const { [name]: _missing, ...rest } = whole;
        for (const body of [rest, ...[null, ...values].map((value) => ({ ...whole, [name]: value }))]) {
          calls.push([name, { path, secret, body }]);
        }
      }
      for (const [name, values] of Object.entries(wrong)) {
        for (const value of values) calls.push([name, { path, secret, body: { ...whole, [name]: value } }]);
      }
      for (const [name, call] of calls) await expectInvalid(world, call, name, JSON.stringify(call.body));
      // A provider would refuse them too, so check that it received no request.
      expect(world.simulator.calls({ model: model.upstream })).toEqual([]);
    },
  };
}

function forwardedFields({ request, path, right }: RequestRow): ContractCase {
  const fields = Object.keys(right).filter((name) => isListed(request, name));
  return {
    title: `${request}: optional and unknown fields reach the provider unchanged`,
    covers: [
      ...fields.map((name) => `request objects: ${request} ${name}`),
      'request objects: sentence 1 all request bodies accept',
      'what the service does: sentence 5 the request body is',
    ],
    async run(world) {
      const model = await world.makeModel(kindFor(path));
      const answer = await send(world.url, modelCall(path, world.rich.secret, model.id, right));
      expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
      const [call] = world.simulator.calls({ model: model.upstream });
      const sent: unknown = JSON.parse(String(call?.body));
      expect(sent).toEqual({ model: model.upstream, ...LEAST_BODY[path], ...right });
    },
  };
}

/**
 * Returns whether the specification's table of request fields has a row for the field. The test
 * also sends other fields, but cannot claim to cover a row with them.
 */
function isListed(request: string, name: string): boolean {
  return (
    name !== 'vendor_field' &&
    name !== 'background' &&
    name !== 'max_output_tokens' &&
    !(request === 'Legacy completion' && name === 'n')
  );
}

async function expectInvalid(
  world: ContractSystem,
  call: ContractCall,
  param: string | undefined,
  what: string,
): Promise<void> {
  const answer = await send(world.url, call);
  expect([what, answer.status]).toEqual([what, 400]);
  const { error } = jsonOf(answer) as { error: { param?: string | null } };
  const expectedParam = param ?? error.param ?? undefined;
  const type = 'invalid_request_error';
  expectError(answer, styleOf(call.path), {
    status: 400,
    code: 'invalid_request',
    type,
    messagesType: type,
    ...(expectedParam === undefined ? {} : { param: expectedParam }),
  });
}
