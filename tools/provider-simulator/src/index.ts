export { startProviderSimulator } from './start-provider-simulator.js';
export type { ProviderSimulator, ProviderSimulatorOptions } from './start-provider-simulator.js';
export type { CallFilter, CallRecord } from './call/call-log.js';
export type { SimulatorCounters } from './simulator-state.js';
export { InvalidControlInput } from './scripts/script.js';
export type { ListenerName, Script, ScriptEnd, ScriptStep, ScriptUsage, TokenCounts } from './scripts/script.js';
