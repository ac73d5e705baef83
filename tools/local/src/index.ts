export type { Addresses } from './addresses.js';
export type { Replacement } from './children/supervisor.js';
export { promote, type Promotion, type PromoteOptions } from './ha/promote.js';
export { SERVICES } from './processes.js';
export type { LocalService, ProcessName } from './processes.js';
export type { RunningFile } from './running-file.js';
export { publicKeyOf } from './secrets.js';
export { startSystem, type LocalSystem } from './start-system.js';
export type { SystemOptions } from './system-options.js';
