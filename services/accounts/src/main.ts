import { runService } from '@gateway/service-kit';
import { CONFIG_FIELDS } from './config.js';
import { startAccounts } from './wire.js';

await runService({ name: 'accounts', fields: CONFIG_FIELDS, start: startAccounts });
