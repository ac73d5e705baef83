// Long verification runs: `node dist/src/main.js NAME [--option VALUE …]`.
import { faults } from './faults/faults.js';
import { limits } from './limits/limits.js';
import { outage } from './outage/outage.js';
import { runScenario, type Scenario } from './runner/run-scenario.js';
import { soak } from './soak/soak.js';
import { ha } from './standbys/ha.js';
import { attackForParent } from './unauthenticated/attack.js';
import { unauthenticated } from './unauthenticated/unauthenticated.js';
import { restore } from './upgrade/restore.js';
import { upgrade } from './upgrade/upgrade.js';

const SCENARIOS: readonly Scenario[] = [faults, ha, limits, outage, restore, soak, unauthenticated, upgrade];
const EXIT_WRONG_ARGUMENTS = 2;

const [name, ...args] = process.argv.slice(2);
const scenario = SCENARIOS.find((one) => one.name === name);
if (name === 'attack') await attackForParent(args[0] ?? '');
else if (scenario === undefined) {
  process.stderr.write(`the first argument must be one of: ${SCENARIOS.map((one) => one.name).join(', ')}\n`);
  process.exitCode = EXIT_WRONG_ARGUMENTS;
} else process.exitCode = await runScenario(scenario, args);
