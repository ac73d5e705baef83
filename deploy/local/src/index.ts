export type { Replacement } from './children/crew.js';
export { SERVICES } from './processes.js';
export type { Addresses, LocalService, ProcessName } from './processes.js';
export type { RunningFile } from './running-file.js';
export { startSystem } from './start-system.js';
export type { LocalSystem, SystemOptions } from './start-system.js';
