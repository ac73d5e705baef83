// `npm run prove:ledger [-- --events N] [--kills N] [--seed N]`: kills the workers repeatedly at
// every point, and every few seconds under load, and compares the ledger with an undisturbed one.
// Writes .results/ledger.md.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '200000' },
    kills: { type: 'string', default: '20' },
    seed: { type: 'string' },
  },
});
const root = fileURLToPath(new URL('../../..', import.meta.url));
const test = spawn(
  'npm',
  ['run', '-s', 'jest', '--', '--selectProjects', 'services/billing', '--testPathPatterns', 'prove/ledger'],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      GATEWAY_VERIFY_LEDGER_EVENTS: values.events,
      GATEWAY_VERIFY_LEDGER_KILLS: values.kills,
      ...(values.seed === undefined ? {} : { TEST_SEED: values.seed }),
    },
  },
);
test.once('exit', (code) => {
  process.exitCode = code ?? 1;
});
