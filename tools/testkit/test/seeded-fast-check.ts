/**
 * Replaces `fast-check` in tests (`moduleNameMapper` in `jest.config.js`). All properties and
 * samples use the seed of the run, and a failure prints it. A setup file would load the library in
 * every test file, which takes 15 ms, and most test files do not use it.
 */
import fc from '../../../node_modules/fast-check/lib/fast-check.js';
import { testSeed } from '../src/seed.js';

fc.configureGlobal({ seed: testSeed() });

export * from '../../../node_modules/fast-check/lib/fast-check.js';
export { default } from '../../../node_modules/fast-check/lib/fast-check.js';
