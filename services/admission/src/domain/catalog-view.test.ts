import { expect, test } from '@jest/globals';
import { ENDPOINTS } from '@gateway/contracts/messages';
import { model, source } from '../../test/world.js';
import { buildCatalogView, modelFacts } from './catalog-view.js';

test('embeddings are for embedding models and the other endpoints for chat models, whatever a source says', () => {
  const kinds = ['chat', 'embedding'] as const;
  const view = buildCatalogView(
    kinds.map((kind) => model(`acme/${kind}`, { kind })),
    kinds.map((kind) => source(`acme/${kind}`, { endpoints: [...ENDPOINTS] })),
  );
  for (const endpoint of ENDPOINTS) {
    const rows = kinds.map((kind) => modelFacts(view, `acme/${kind}`, endpoint, true, 0).row);
    expect([endpoint, rows]).toEqual([endpoint, endpoint === '/v1/embeddings' ? [11, 0] : [0, 11]]);
  }
});
