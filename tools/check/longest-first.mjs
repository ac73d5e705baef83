import Sequencer from '@jest/test-sequencer';

/**
 * The longest suites start first, so that none of them runs last while the other worker is idle. By
 * default a clean clone orders suites by file size.
 */
const LONGEST = [
  'tests/e2e/src/upgrade/rolling.system.test.ts',
  'services/admission/src/admit/model-against-script.system.test.ts',
  'tests/e2e/src/faults/faults.system.test.ts',
  'tests/e2e/src/limit-store/edge-faults.system.test.ts',
  'tests/simulation/src/run/play.system.test.ts',
  'tests/e2e/src/limits/limits.system.test.ts',
  'services/dashboard/web/test/pages.system.test.ts',
  'tests/e2e/src/limits/limits-clock.system.test.ts',
  'services/admission/src/recover/lose-limit-store-under-load.system.test.ts',
  'services/billing/src/usage/disturb-worker.system.test.ts',
  'tests/e2e/src/rotation.system.test.ts',
  'tests/e2e/src/catalog-changes.system.test.ts',
  'tests/e2e/src/contract/faults.system.test.ts',
  'tests/e2e/src/browser/story.system.test.ts',
  'services/edge-proxy/src/service.system.test.ts',
  'services/billing/verify/month.system.test.ts',
];
/** Groups of the inner lane (`group-suites.mjs`) start before single suites. */
const GROUP = /\/\.cache\/suites\/services\//;

/** Runs the longest suites first, the others in jest's order. */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const place = ({ path }) => {
      if (GROUP.test(path)) return -1;
      const at = LONGEST.findIndex((suite) => path.endsWith(suite));
      return at < 0 ? LONGEST.length : at;
    };
    // The sort is stable: suites with equal rank keep jest's order.
    return super.sort(tests).sort((a, b) => place(a) - place(b));
  }
}
