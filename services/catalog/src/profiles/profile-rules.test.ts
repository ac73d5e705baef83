import { expect, test } from '@jest/globals';
import { sourceSpec as sourceSchema, type SourceSpec } from '@gateway/contracts/operator';
import { PLACE, PROVIDER, sourceSpec } from '../../test/specs.js';
import type { Source } from '../objects/rules.js';
import { sourceOf, type SourceParts } from '../objects/spec-rules.js';
import { sourceViewOf } from '../objects/view-rules.js';
import { connectionOf, keptSettings, profileOf } from './profile-rules.js';

type Input = Parameters<typeof sourceSchema.parse>[0];

function made(spec: Partial<SourceSpec>, parts: Partial<SourceParts> = {}): ReturnType<typeof sourceOf> {
  const input: Input = { modelId: 'acme/one', providerId: 'acme', upstreamModel: 'one', ...spec };
  return sourceOf('s', sourceSchema.parse(input), { ...PLACE, ...parts });
}

function source(spec: Partial<SourceSpec>, parts?: Partial<SourceParts>): Source {
  const result = made(spec, parts);
  if ('refused' in result) throw new Error(result.refused.message);
  return result;
}

const connection = (spec: Partial<SourceSpec>, parts?: Partial<SourceParts>) => {
  const one = source(spec, parts);
  return connectionOf(one, profileOf(one, 'openai'));
};
const refused = (param: string) => ({ refused: expect.objectContaining({ code: 'invalid_request', param }) });

test('a source needs only profile, parameters and model', () => {
  expect(connection({ profile: 'openai' })).toMatchObject({
    baseUrl: 'https://api.openai.com',
    paths: {},
    auth: { type: 'bearer' },
    streamUsage: true,
    totalExtra: 'reasoning',
  });
  expect(source({ profile: 'openai' }).endpoints).toEqual(['/v1/chat/completions', '/v1/completions', '/v1/responses']);
  expect(source({ profile: 'openai' }, { kind: 'embedding' }).endpoints).toEqual(['/v1/embeddings']);
});

test('parameters and model are inserted into base URL and path', () => {
  const azure = { profile: 'azure-deployments', parameters: { resource: 'acme', apiVersion: '2024-10-21' } };
  expect(connection({ ...azure, upstreamModel: 'my gpt' })).toMatchObject({
    baseUrl: 'https://acme.openai.azure.com/openai',
    paths: { '/v1/chat/completions': '/deployments/my%20gpt/chat/completions?api-version=2024-10-21' },
    auth: { type: 'header', header: 'api-key' },
  });
  const vertex = {
    profile: 'vertex-anthropic',
    parameters: { host: 'us-east5-aiplatform.googleapis.com', project: 'p-1', location: 'us-east5' },
    upstreamModel: 'claude',
  };
  expect(connection(vertex)).toMatchObject({
    paths: { '/v1/messages': '/claude:rawPredict' },
    streamedPaths: { '/v1/messages': '/claude:streamRawPredict' },
    body: { '/v1/messages': { set: { anthropic_version: 'vertex-2023-10-16' }, remove: ['model'] } },
  });
});

test.each([
  ['openai.gpt-5.6-sol', '/openai/v1/responses'],
  ['google.gemma-4-31b', '/openai/v1/responses'],
  ['xai.grok-4.3', '/openai/v1/responses'],
  ['openai.gpt-oss-20b', undefined],
  ['google.gemma-3-27b-it', undefined],
])('the model %s selects its path prefix on Bedrock', (upstreamModel, path) => {
  const bedrock = { profile: 'bedrock-mantle', parameters: { region: 'us-east-2' }, upstreamModel };
  const { baseUrl, paths } = connection(bedrock);
  expect([baseUrl, paths['/v1/responses']]).toEqual(['https://bedrock-mantle.us-east-2.api.aws', path]);
  expect(connection({ ...bedrock, paths: { '/v1/responses': '/own' } }).paths['/v1/responses']).toBe('/own');
});

test('a signature has the region of the source', () => {
  const auth = { type: 'sigv4', service: 'bedrock', region: '{region}' } as const;
  const own = { profile: 'bedrock', parameters: { region: 'eu-west-1' }, auth, upstreamModel: 'openai.gpt-oss-120b' };
  expect(connection(own)).toMatchObject({
    baseUrl: 'https://bedrock-runtime.eu-west-1.amazonaws.com/openai',
    auth: { ...auth, region: 'eu-west-1' },
  });
});

test('settings of a source override its profile', () => {
  const own = {
    profile: 'mistral',
    baseUrl: 'https://eu.mistral.example',
    auth: { type: 'header', header: 'x-key' },
    paths: { '/v1/chat/completions': '/chat' },
    streamUsage: true,
    totalExtra: 'input',
    headers: { 'x-a': '1' },
    body: { '/v1/chat/completions': { remove: ['user'] } },
  } as const satisfies Partial<SourceSpec>;
  expect(connection(own)).toMatchObject({
    baseUrl: own.baseUrl,
    auth: own.auth,
    paths: own.paths,
    streamUsage: true,
    totalExtra: 'input',
    headers: own.headers,
    body: own.body,
  });
});

test.each<[string, Partial<SourceSpec>, string]>([
  ['an unknown profile', { profile: 'nobody' }, 'profile'],
  ['a missing parameter', { profile: 'azure-openai' }, 'parameters.resource'],
  ['an unknown parameter', { profile: 'openai', parameters: { region: 'x' } }, 'parameters'],
  ['a profile without a base URL', { profile: 'vllm' }, 'baseUrl'],
  ['no profile and no endpoints', { baseUrl: 'https://api.acme.example' }, 'endpoints'],
  ['no profile and no base URL', { endpoints: ['/v1/chat/completions'] }, 'baseUrl'],
])('%s is refused', (_name, spec, param) => {
  expect(made(spec)).toEqual(refused(param));
});

test('a profile without endpoints for the kind of model is refused', () => {
  expect(made({ profile: 'anthropic' }, { kind: 'embedding' })).toEqual(refused('endpoints'));
});

test.each(['openai', 'anthropic', null])('a PUT of an unchanged view with profile %s keeps the source', (profile) => {
  const before = profile === null ? sourceOf('s', sourceSchema.parse(sourceSpec()), PLACE) : made({ profile });
  if ('refused' in before) throw new Error('refused');
  const {
    costs: _costs,
    costVersion: _version,
    upcomingCosts: _upcoming,
    hasCredential: _has,
    credentialOf: _whose,
    id: _id,
    ...view
  } = sourceViewOf(before, PROVIDER, [], 0);
  const wanted = sourceOf('s', sourceSchema.parse(view), PLACE);
  if ('refused' in wanted) throw new Error(JSON.stringify(wanted));
  expect(keptSettings(wanted, before, connectionOf(before, profileOf(before, 'openai')))).toEqual(before);
  expect(
    keptSettings({ ...wanted, streamUsage: false }, before, connectionOf(before, profileOf(before, 'openai'))),
  ).toEqual({ ...before, streamUsage: false });
});
