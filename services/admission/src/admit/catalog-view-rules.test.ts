import { expect, test } from '@jest/globals';
import { ENDPOINTS } from '@gateway/contracts/messages';
import { model, source } from '../../test/world.js';
import { buildCatalogView, computeModelFacts } from './catalog-view-rules.js';

test('an endpoint only serves its kind of model, regardless of a source', () => {
  const kinds = ['chat', 'embedding'] as const;
  const view = buildCatalogView(
    kinds.map((kind) => model(`acme/${kind}`, { kind })),
    kinds.map((kind) => source(`acme/${kind}`, { endpoints: [...ENDPOINTS] })),
  );
  for (const endpoint of ENDPOINTS) {
    const refusals = kinds.map((kind) => computeModelFacts(view, `acme/${kind}`, endpoint, true, 0).refusal);
    const refused = 'endpoint_not_supported_for_model';
    expect([endpoint, refusals]).toEqual([endpoint, endpoint === '/v1/embeddings' ? [refused, null] : [null, refused]]);
  }
});
