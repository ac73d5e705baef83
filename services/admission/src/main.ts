import { runService } from '@gateway/service-kit';
import { ADMISSION_FIELDS, checkConfig } from './config.js';
import { startAdmission } from './service.js';

await runService({ name: 'admission', fields: ADMISSION_FIELDS, check: checkConfig, start: startAdmission });
