import { runService } from '@gateway/service-kit';
import { CATALOG_FIELDS } from './config.js';
import { startCatalog } from './service.js';

await runService({ name: 'catalog', fields: CATALOG_FIELDS, start: startCatalog });
