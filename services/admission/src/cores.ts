// What `deploy/verify/simulation` runs of this service: everything but the connections to Redis and the bus.
export { loadScripts } from './adapters/load-scripts.js';
export { RedisClock } from './adapters/redis-clock.js';
export { Admission } from './admission.js';
export { buildCatalogView, type CatalogView } from './domain/catalog-view.js';
export { bucketKeys } from './domain/gate-keys.js';
export { makeGateToken, setAtOf } from './domain/gate-token.js';
export { isHoldId, readHold, type StoredHold } from './domain/hold.js';
export type { KeptBeat } from './domain/last-beats.js';
export type { ScriptCall, ScriptName, ScriptReply } from './domain/script-call.js';
export { readShape, type HoldShape } from './domain/shape.js';
export { AdmissionFault } from './ports.js';
export type { Beat, Gate, Ports } from './ports.js';
