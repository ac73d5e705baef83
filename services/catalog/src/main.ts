import { runService } from '@gateway/service-kit';
import { CONFIG_FIELDS } from './config.js';
import { startCatalog } from './wire.js';

await runService({ name: 'catalog', fields: CONFIG_FIELDS, start: (context) => startCatalog(context) });
