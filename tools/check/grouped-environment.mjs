import { TestEnvironment } from 'jest-environment-node';

/**
 * The environment of a file that loads several test files (`tools/check/group-suites.mjs`). They
 * share one registry of modules, because loading the product's modules again for each test file
 * took a third of the run's time.
 *
 * `loadSuite(path, load)` imports a test file. Its tests and hooks become those of a block with the
 * file's path as its name. A file that does not load is a failed test.
 */
export default class GroupedEnvironment extends TestEnvironment {
  handleTestEvent({ name, runtimeGlobals }, state) {
    if (name !== 'setup') return;
    this.global.loadSuite = async (path, load) => {
      runtimeGlobals.describe(path, () => undefined);
      state.currentDescribeBlock = state.rootDescribeBlock.children.at(-1);
      try {
        await load();
      } catch (error) {
        runtimeGlobals.test('loads', () => {
          throw error;
        });
      } finally {
        state.currentDescribeBlock = state.rootDescribeBlock;
      }
    };
  }
}
