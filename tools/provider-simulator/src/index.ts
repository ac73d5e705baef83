export { startProviderSimulator } from './start-provider-simulator.js';
export type { ProviderSimulator } from './start-provider-simulator.js';
export type { CallRecord } from './call/call-log.js';
export type { ScriptStep } from './scripts/script.js';
