export { heldBytes, liveBytes } from './live-bytes.js';
export { median, percentile, renderTable, sumOf, sumOfMetric } from './report-formats.js';
export { recordingLog, silentLog, type LogLine, type RecordingLog } from './logs.js';
export { startForwardingProxy, type ForwardingProxy } from './forwarding-proxy.js';
export {
  GOOD_CALLERS,
  goodCallsDuring,
  noSlowAttacks,
  startSlowAttack,
  SLOW_MODES,
  type SlowMode,
} from './slow-attack.js';
export { serviceContext, startServiceServers, type Replica } from './service-servers.js';
export { startTestBus, type TestBus } from './test-bus.js';
export { startTestDatabase, type TestDatabase } from './test-database.js';
export { startTestRedis, type OwnServer } from './test-redis.js';
export type { TestServer } from './start-test-server.js';
export { temporaryDirectory, type TemporaryDirectory } from './temporary-directory.js';
export { until } from './until.js';
