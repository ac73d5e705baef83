// Writes the generated contracts: `npm run generate`.
import { writeFileSync } from 'node:fs';
import { format } from 'oxfmt';
import { openApiDocument } from '../../libs/contracts/dist/public/index.js';
import { positionsSource } from '../../libs/contracts/dist/packed-forms.js';
import { buildOpenApi } from '../../services/dashboard/dist/operator-api/openapi.js';
import { ROUTE_TABLE } from '../../services/dashboard/dist/operator-api/routes.js';

const root = new URL('../../', import.meta.url);

/** Writes a document as the formatter does: an object that fits on a line is on one line. */
async function writeDocument(file, document) {
  const { code } = await format(file, JSON.stringify(document), { printWidth: 120 });
  writeFileSync(new URL(file, root), code);
}

await writeDocument('docs/api/operator.openapi.json', buildOpenApi(ROUTE_TABLE));
await writeDocument('docs/api/public.openapi.json', openApiDocument());
writeFileSync(new URL('libs/contracts/src/generated/positions.ts', root), positionsSource());
