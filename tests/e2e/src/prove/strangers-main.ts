import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SeededRandom } from '@gateway/testkit/random';
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { attackInTurn } from '../strangers/attack-in-turn.js';
import { judgeRate, judgeStrangers } from '../strangers/judge-strangers.js';
import { kindsFrom, type AttackKind } from '../strangers/kinds.js';
import { planTurns } from '../strangers/plan-turns.js';
import { renderVerification } from '../strangers/render-reports.js';
import { StrangersWorld } from '../strangers/strangers-world.js';
import { wrongOf } from '../strangers/tally.js';
import { beginVerification, breakOffBy, optionsFrom } from './begin-verification.js';

const MINUTES = 60;
const EXIT_WRONG_ARGUMENTS = 2;
const CONNECTIONS_MAX = 18_000;
/** The proxy needs two connections for each, and the limit on connections is its responsibility. */
const HOP_CONNECTIONS_MAX = 3_000;
/** Relative to `dist/src/prove`. */
const fileOf = (name: string): string => fileURLToPath(new URL(`../../../../../.results/${name}.md`, import.meta.url));

const given = optionsFrom(
  {
    minutes: { or: MINUTES, min: 1, max: 10_000 },
    hops: { or: 0, min: 0, max: 1 },
    seed: { or: testSeed(), min: 0, max: SEED_MAX },
  },
  ['kinds'],
);
const kinds = given === null ? null : readKinds(given.kinds);
if (given === null || kinds === null) process.exitCode = EXIT_WRONG_ARGUMENTS;
else process.exitCode = (await prove(given, kinds)) ? 0 : 1;

/** Returns true if no valid request was refused and no process grew. */
async function prove(
  { minutes, hops, seed }: { minutes: number; hops: number; seed: number },
  all: readonly AttackKind[],
): Promise<boolean> {
  const log = beginVerification();
  log(`${minutes} minutes, ${hops} trusted hops, seed ${seed}`);
  const world = await StrangersWorld.begin({ name: 'prove-strangers', hops });
  breakOffBy(() => world.end());
  try {
    const { turns, secondsEach } = planTurns(all, minutes, new SeededRandom(seed));
    const connectionsMax = hops === 0 ? CONNECTIONS_MAX : HOP_CONNECTIONS_MAX;
    const seen = await attackInTurn(world, {
      kinds: turns,
      secondsEach,
      connectionsMax,
      onAttack: ({ kind, good }) => log(`${kind}: ${wrongOf(good.calls)} of ${good.calls.asked} requests not served`),
    });
    const wrong = [...judgeStrangers(seen), ...judgeRate(seen)];
    const report = renderVerification({ minutes, hops, seed, secondsEach, wrong, seen });
    process.stdout.write(`\n${report}`);
    writeFileSync(fileOf(hops === 0 ? 'strangers' : 'strangers-hop'), report);
    return wrong.length === 0;
  } finally {
    await world.end();
  }
}

function readKinds(text: string | undefined): AttackKind[] | null {
  try {
    return kindsFrom(text);
  } catch (error) {
    process.stderr.write(`--kinds: ${(error as Error).message}\n`);
    return null;
  }
}
