/**
 * What tests get when they import `fast-check` (`moduleNameMapper` in `jest.config.js`): all its
 * properties and samples draw by the seed of the run, and a failure prints it. A set-up file would
 * load the library for every test file, 15 ms each, of which most never use it.
 */
import fc from '../../../node_modules/fast-check/lib/fast-check.js';
import { testSeed } from '../src/seed.js';

fc.configureGlobal({ seed: testSeed() });

export * from '../../../node_modules/fast-check/lib/fast-check.js';
export { default } from '../../../node_modules/fast-check/lib/fast-check.js';
