import { doctor } from './doctor.js';

process.exitCode = await doctor();
