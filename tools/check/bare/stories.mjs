import { Checkout, lastLines } from './checkout.mjs';
import { afterKill, ctrlCDuringStart, ctrlCWithBash, secondCtrlC } from './end-stories.mjs';
import { expect } from './results.mjs';
import { doctorAndReset, firstStart, secondStart, sideBySide } from './start-stories.mjs';

const TEST_LIMIT_MS = 1_200_000;

/**
 * Returns the checks for one user in order. Each story returns its result or throws. After a failed
 * essential story the others are skipped.
 */
export function storiesOf({ user, root, source, options }) {
  const first = new Checkout(root, user, source, 'gateway');
  const second = new Checkout(root, user, source, 'another gateway');
  const tests = options['skip-tests'] || (user.name !== 'root' && !options['user-tests']) ? [] : [testStory(first)];
  let demoKey = null;
  return [
    { title: 'git clone', essential: true, tell: () => first.clone() },
    { title: 'npm ci, first', essential: true, tell: () => first.install() },
    {
      title: 'first start, calls, charges, Ctrl-C',
      essential: true,
      tell: async (row) => {
        demoKey = await firstStart(first, row);
        return 'request served and charged to the wallet';
      },
    },
    { title: 'second start, same key, same wallet, Ctrl-C', tell: (row) => secondStart(first, demoKey, row) },
    {
      title: 'kill -9 of the starter',
      tell: (row) => afterKill(first, (system) => system.running.pids.starter[0], row),
    },
    { title: 'kill -9 of npm', tell: (row) => afterKill(first, (system) => system.npmPid, row) },
    { title: 'Ctrl-C while a call runs, then again', tell: (row) => secondCtrlC(first, row) },
    { title: 'Ctrl-C where the shell of npm gives way to its command', tell: (row) => ctrlCWithBash(first, row) },
    { title: 'Ctrl-C during the start', tell: (row) => ctrlCDuringStart(first, row) },
    { title: 'git clone to a path with a space', tell: () => second.clone() },
    { title: 'npm ci, second (the npm cache is warm)', tell: () => second.install() },
    { title: 'two checkouts side by side', tell: (row) => sideBySide(first, second, row) },
    { title: 'npm run doctor, npm run reset', tell: () => doctorAndReset(second) },
    ...tests,
  ];
}

function testStory(checkout) {
  return {
    title: 'npm test',
    tell: async () => {
      const { code, output } = await checkout.command(['npm', 'test'], { limitMs: TEST_LIMIT_MS });
      const left = checkout.root.processes();
      const log = checkout.root.keepLog(`npm-test-${checkout.user.name}`, output);
      expect(code === 0, `"npm test" to end with 0 (all of it: ${log})`, lastLines(output, 60));
      expect(left.length === 0, 'no process left after "npm test"', left.join('\n'));
      console.log(lastLines(output, 20));
      return lastLines(output, 1);
    },
  };
}
