import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/** File with the counts of a jest run. */
const COUNTS = '.cache/test-counts.json';

export function forgetCounts() {
  rmSync(COUNTS, { force: true });
}

/** Returns the counts of the run since `forgetCounts`. */
export function readCounts() {
  try {
    return JSON.parse(readFileSync(COUNTS, 'utf8'));
  } catch {
    // A step before the tests failed: that is one failure, and nothing passed.
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

/**
 * A jest reporter. At the end it prints the time per package and the tests that were not run (their
 * names list the requirements), and writes the counts to a file for the calling program.
 */
export default class RoomTimes {
  #rooms = new Map();
  #notRun = [];
  #isFiltered;

  constructor({ testNamePattern }) {
    // With a test name pattern, the list of tests that were not run is omitted.
    this.#isFiltered = Boolean(testNamePattern);
  }

  onTestFileResult(test, result) {
    const room = test.context.config.displayName?.name ?? 'elsewhere';
    const row = this.#rooms.get(room) ?? { seconds: 0, passed: 0, failed: 0, skipped: 0 };
    row.seconds += ((result.perfStats?.end ?? 0) - (result.perfStats?.start ?? 0)) / 1000;
    row.passed += result.numPassingTests;
    row.failed += result.numFailingTests + (result.testExecError ? 1 : 0);
    row.skipped += result.numPendingTests + result.numTodoTests;
    this.#rooms.set(room, row);
    for (const { status, fullName } of result.testResults) {
      if (status === 'pending' || status === 'todo') this.#notRun.push(`${room}: ${fullName}`);
    }
  }

  onRunComplete(_contexts, results) {
    const rows = [...this.#rooms].sort(([, a], [, b]) => b.seconds - a.seconds);
    const width = Math.max(4, ...rows.map(([room]) => room.length));
    console.log(`\n${'room'.padEnd(width)}  seconds  passed  failed  skipped`);
    for (const [room, row] of rows) {
      console.log(
        [
          room.padEnd(width),
          row.seconds.toFixed(1).padStart(7),
          String(row.passed).padStart(6),
          String(row.failed).padStart(6),
          String(row.skipped).padStart(7),
        ].join('  '),
      );
    }
    if (this.#notRun.length > 0 && !this.#isFiltered) {
      console.log(`\nNot run here:\n${this.#notRun.map((name) => `  ${name}`).join('\n')}`);
    }
    const counts = {
      passed: results.numPassedTests,
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
    };
    mkdirSync('.cache', { recursive: true });
    writeFileSync(COUNTS, JSON.stringify(counts));
  }
}
