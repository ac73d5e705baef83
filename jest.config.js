import { useMemoryDirectory } from './deploy/verify/check/memory-directory.mjs';
import { ROOMS } from './deploy/verify/check/rooms.mjs';

useMemoryDirectory();

/**
 * `inner`: all but the long tests, which are `*.system.test.ts`; `system`: only those. Without it
 * (jest started by hand): both.
 */
const LANE = process.env['GATEWAY_TEST_LANE'];

/** Compiled tests outlive the run's temporary files. */
const CACHE = '<rootDir>/.cache/jest';

/**
 * The end-to-end tests share one running system, started before the first and stopped after the
 * last of them.
 */
const system = {
  globalSetup: '<rootDir>/deploy/verify/e2e/test/global-setup.mjs',
  globalTeardown: '<rootDir>/deploy/verify/e2e/test/global-teardown.mjs',
};

/** One project per room, so that a run can name the room of each test and its time. */
const project = (room) => ({
  ...(room === 'deploy/verify/e2e' ? system : {}),
  displayName: room,
  cacheDirectory: CACHE,
  rootDir: import.meta.dirname,
  roots: [`<rootDir>/${room}`],
  testMatch: [LANE === 'system' ? '**/*.system.test.ts' : '**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/', ...(LANE === 'inner' ? ['\\.system\\.test\\.ts$'] : [])],
  modulePathIgnorePatterns: ['/dist/'],
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['source', 'node', 'node-addons'] },
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // Only what imports fast-check pays for giving it the run's seed.
    '^fast-check$': '<rootDir>/libs/testkit/test/seeded-fast-check.ts',
  },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' }, sourceMaps: 'inline' },
    ],
  },
});

export default {
  projects: ROOMS.map(project),
  cacheDirectory: CACHE,
  // Most long suites wait for processes of their own: a third worker uses what two leave idle on
  // two cores.
  maxWorkers: 3,
  // What suites leave behind makes each collection of garbage slower: the simulation took ten times
  // as long in an old worker.
  workerIdleMemoryLimit: '700MB',
  testSequencer: './deploy/verify/check/longest-first.mjs',
  testTimeout: 30_000,
  reporters: ['default', './deploy/verify/check/room-times.mjs'],
};
