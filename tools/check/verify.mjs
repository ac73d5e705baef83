// `npm run verify:NAME -- [PART]`: compiles, then runs the long form of a verification.
import { spawnSync } from 'node:child_process';

/** Programs that take the arguments, and tests with the numbers of their cases. */
const RUNS = {
  simulation: { program: 'tests/simulation/dist/main.js' },
  faults: { program: 'tests/e2e/dist/src/main.js' },
  'faults rotation': { tests: 'tests/e2e', pattern: 'rotation', cases: { ROTATIONS: 10_000 } },
  model: { tests: 'services/admission', pattern: 'model-against', cases: { MODEL_SEQUENCES: 100_000 } },
  fuzz: {
    tests: 'services/edge-proxy',
    pattern: 'verify/.*',
    cases: {
      DOCUMENTS: 10_000_000,
      STREAMS: 100_000,
      HTTP_CASES: 1_000_000,
      HOSTILE_STREAMS: 1_000_000,
      MESSAGES: 1_000_000,
      SIZES: 1_000,
    },
  },
  ledger: { tests: 'services/billing', pattern: 'verify/ledger', cases: { LEDGER_EVENTS: 200_000, LEDGER_KILLS: 20 } },
  'ledger month': { tests: 'services/billing', pattern: 'verify/month', cases: { MONTH_CALLS: 100_000 } },
};

const [name, ...args] = process.argv.slice(2);
const own = RUNS[`${name} ${args[0]}`];
const { program, tests, pattern, cases } = own ?? RUNS[name];
const files = own === undefined ? `${pattern}${args[0] ?? ''}` : pattern;
const jest = ['run', '-s', 'jest', '--', '--selectProjects', tests, '--testPathPatterns', files];
process.chdir(new URL('../..', import.meta.url).pathname);
const isDone =
  run('npm', ['run', '-s', 'build']) && (program === undefined ? run('npm', jest) : run('node', [program, ...args]));
process.exit(isDone ? 0 : 1);

/** Variables of the environment, such as `GATEWAY_VERIFY_STREAMS`, precede these numbers. */
function run(command, parameters) {
  const counts = Object.entries(cases ?? {}).map(([key, count]) => [`GATEWAY_VERIFY_${key}`, String(count)]);
  const env = { ...Object.fromEntries(counts), ...process.env };
  return spawnSync(command, parameters, { stdio: 'inherit', env }).status === 0;
}
