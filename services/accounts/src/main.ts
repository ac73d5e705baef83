import { runService } from '@gateway/service-kit';
import { ACCOUNTS_FIELDS } from './config.js';
import { startAccounts } from './service.js';

await runService({ name: 'accounts', fields: ACCOUNTS_FIELDS, start: startAccounts });
