import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startOwnSystem } from '../../test/own-system.js';
import { FAILOVER_FORMATS } from '../failover/formats.js';
import { judgePlay } from '../failover/judge-play.js';
import { playScenarios } from '../failover/play-scenarios.js';
import { playsOf } from '../failover/plays.js';
import { SCENARIOS } from '../failover/scenarios.js';
import { beginVerification, breakOffBy, optionsFrom } from './begin-verification.js';
import { renderFailover } from './render-failover.js';

const EXIT_WRONG_ARGUMENTS = 2;
/** Relative to `dist/src/prove`. */
const RESULT_FILE = fileURLToPath(new URL('../../../../../.results/failover.md', import.meta.url));

if (optionsFrom({}) === null) process.exitCode = EXIT_WRONG_ARGUMENTS;
else process.exitCode = (await prove()) ? 0 : 1;

/**
 * Plays every scenario in every format, plain and streamed. Returns true if all results match the
 * table.
 */
async function prove(): Promise<boolean> {
  const log = beginVerification();
  const plays = playsOf(SCENARIOS, FAILOVER_FORMATS);
  log(`${SCENARIOS.length} scenarios, ${plays.length} plays`);
  const system = await startOwnSystem('prove-failover', {}, { 'edge-proxy': 1, admission: 1 });
  breakOffBy(() => system.stop());
  try {
    const { edgeUrl } = system.local.running();
    const seen = await playScenarios({ edgeUrl, operator: system.operator }, plays);
    const wrong = seen.flatMap(judgePlay);
    for (const each of wrong) log(each);
    const report = renderFailover(seen, wrong.length);
    process.stdout.write(`\n${report}`);
    if (wrong.length > 0) return false;
    writeFileSync(RESULT_FILE, report);
    log(`wrote ${RESULT_FILE}`);
    return true;
  } finally {
    await system.stop();
  }
}
