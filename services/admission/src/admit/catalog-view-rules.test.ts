import { expect, test } from '@jest/globals';
import { REFUSAL } from '@gateway/contracts/errors';
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
    const ranks = kinds.map((kind) => computeModelFacts(view, `acme/${kind}`, endpoint, true, 0).rank);
    const refused = REFUSAL.endpoint_not_supported_for_model;
    expect([endpoint, ranks]).toEqual([endpoint, endpoint === '/v1/embeddings' ? [refused, 0] : [0, refused]]);
  }
});
