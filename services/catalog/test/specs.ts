import type { BodyOf, catalogPutModel, catalogPutProvider, catalogPutSource } from '@gateway/contracts/messages';

/** Author of test commands. */
export const AUTHOR = {
  actor: 'operator:test',
  origin: { client: '192.0.2.1', agent: 'tests', requestId: 'req_test' },
} as const;

type ProviderSpec = BodyOf<typeof catalogPutProvider>['spec'];
type ModelSpec = BodyOf<typeof catalogPutModel>['spec'];
type SourceSpec = BodyOf<typeof catalogPutSource>['spec'];

export function providerSpec(more: Partial<ProviderSpec> = {}): ProviderSpec {
  return { name: 'A provider', format: 'openai', ...more };
}

export function modelSpec(more: Partial<ModelSpec> = {}): ModelSpec {
  return { displayName: 'A model', kind: 'chat', ...more };
}

export function sourceSpec(more: Partial<SourceSpec> = {}): SourceSpec {
  return {
    modelId: 'acme/one',
    providerId: 'acme',
    baseUrl: 'https://api.acme.example',
    upstreamModel: 'one',
    endpoints: ['/v1/chat/completions'],
    ...more,
  };
}

/** A stored provider with default fields. */
export const PROVIDER = {
  id: 'acme',
  name: 'A provider',
  format: 'openai',
  auth: null,
  sealedCredential: null,
} as const;

/** Default parts of a source in addition to its spec. */
export const PLACE = { sealedCredential: null, privateAllowed: false, format: 'openai', kind: 'chat' } as const;

export const PRICES = { inputPerMillion: '2.50', outputPerMillion: '10.00', cachedInputPerMillion: '1.25' };
