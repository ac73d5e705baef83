// What `deploy/verify/simulation` runs of this service: everything but the connections to Redis and
// the bus.
export { loadScripts } from './adapters/load-scripts.js';
export { RedisClock } from './adapters/redis-clock.js';
export { Admission } from './admission.js';
export { buildCatalogView, type CatalogView } from './domain/catalog-view.js';
export { accountOfKey, bucketKeys } from './domain/store-keys.js';
export type { RunOfRedis } from './domain/epoch-history.js';
export { makeEpoch, runOf, setAtOf } from './domain/epoch.js';
export { isHoldId, readHold, type StoredHold } from './domain/hold.js';
export type { HeartbeatMark, KeptHeartbeat } from './domain/last-heartbeats.js';
export { runningCalls } from './domain/running-calls.js';
export type { ScriptCall, ScriptName, ScriptReply } from './domain/script-call.js';
export { POSITIONS, argumentOf, type ScriptArgument } from './domain/script-positions.js';
export { readTemplate, type HoldTemplate } from './domain/hold-template.js';
export { type OtherReplicas, RunAgreement } from './domain/run-agreement.js';
export { replaceCall } from './domain/token-script.js';
export { AdmissionFault } from './ports.js';
export type { Heartbeat, LimitStore, Owners, Ports } from './ports.js';
