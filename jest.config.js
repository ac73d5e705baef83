import { useMemoryDirectory } from './tools/check/memory-directory.mjs';
import { groupSuites } from './tools/check/group-suites.mjs';
import { CORE, ROOMS } from './tools/check/rooms.mjs';

useMemoryDirectory();

/**
 * `inner`: all tests except the long ones (`*.system.test.ts`). `system`: only the long ones. Not
 * set (jest started manually): both.
 */
const LANE = process.env['GATEWAY_TEST_LANE'];
/** Set when whole packages are tested: then each file that jest runs loads several test files. */
const IS_GROUPED = LANE === 'inner' && process.env['GATEWAY_TEST_GROUPS'] === 'on';

/** Set when only services changed: of the rooms in `CORE`, only its tests run, not grouped. */
const CORE_OF = process.env['GATEWAY_TEST_CORE'] === 'on' ? CORE : {};

/** Tests of these packages change or close clients and settings that other test files use. */
const UNGROUPED = ['tests/e2e', 'tools/testkit'];

/** The cache of compiled tests is kept after the run's temporary files. */
const CACHE = '<rootDir>/.cache/jest';

/**
 * The end-to-end tests share one running system, which starts before the first and stops after the
 * last of them.
 */
const system = {
  globalSetup: '<rootDir>/tests/e2e/test/global-setup.mjs',
  globalTeardown: '<rootDir>/tests/e2e/test/global-teardown.mjs',
};

/** The servers that suites share: each starts when the first suite wants it, and stops after the last. */
const LENDER = '<rootDir>/tools/testkit/test/lend-servers.mjs';

function grouped(room) {
  const directory = `.cache/suites/${room}`;
  groupSuites(import.meta.dirname, room, `${import.meta.dirname}/${directory}`);
  return { roots: [`<rootDir>/${directory}`], testEnvironment: '<rootDir>/tools/check/grouped-environment.mjs' };
}

/** One project per package, so that a run reports the package of each test. */
const project = (room) => ({
  ...(room === 'tests/e2e' ? system : {}),
  displayName: room,
  cacheDirectory: CACHE,
  rootDir: import.meta.dirname,
  ...(IS_GROUPED && !UNGROUPED.includes(room) && !(room in CORE_OF)
    ? grouped(room)
    : { roots: [`<rootDir>/${room}`], testEnvironment: 'node' }),
  testMatch: CORE_OF[room]?.map((name) => `**/${name}.test.ts`) ?? [
    LANE === 'system' ? '**/*.system.test.ts' : '**/*.test.ts',
  ],
  testPathIgnorePatterns: ['/node_modules/', '/dist/', ...(LANE === 'inner' ? ['\\.system\\.test\\.ts$'] : [])],
  modulePathIgnorePatterns: ['/dist/'],
  testEnvironmentOptions: { customExportConditions: ['source', 'node', 'node-addons'] },
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // Only importers of fast-check pay for setting the run's seed.
    '^fast-check$': '<rootDir>/tools/testkit/test/seeded-fast-check.ts',
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
  globalSetup: LENDER,
  globalTeardown: LENDER,
  cacheDirectory: CACHE,
  // Most suites wait for their own processes, so more workers than cores use the idle time.
  maxWorkers: 4,
  // Garbage of earlier suites slows each collection: the simulation took ten times as long in an
  // old worker.
  workerIdleMemoryLimit: '700MB',
  testSequencer: './tools/check/longest-first.mjs',
  // Longer than any wait inside a test, so that the wait fails with its own message first.
  testTimeout: 120_000,
};
