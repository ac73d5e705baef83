export { recordingLog, silentLog } from './logs.js';
export type { LogLine, RecordingLog } from './logs.js';
export { startTestBus } from './test-bus.js';
export type { TestBus } from './test-bus.js';
export { startTestDatabase } from './test-database.js';
export type { TestDatabase, TestDatabaseOptions, TestDatabaseServer } from './test-database.js';
export { temporaryDirectory } from './temporary-directory.js';
export type { TemporaryDirectory } from './temporary-directory.js';
export { until } from './until.js';
