import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SeededRandom } from '@gateway/testkit/random';
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { attackInTurn } from '../strangers/attack-in-turn.js';
import { judgeRate, judgeStrangers } from '../strangers/judge-strangers.js';
import { kindsFrom, type AttackKind } from '../strangers/kinds.js';
import { planTurns } from '../strangers/plan-turns.js';
import { renderBefore, renderVerification } from '../strangers/render-reports.js';
import { StrangersWorld } from '../strangers/strangers-world.js';
import { wrongOf } from '../strangers/tally.js';
import { beginVerification, breakOffBy, optionsFrom } from './begin-verification.js';

const MINUTES = 60;
const EXIT_WRONG_ARGUMENTS = 2;
const CONNECTIONS_MAX = 18_000;
/** The proxy has two for each, and bounding connections is its work. */
const HOP_CONNECTIONS_MAX = 3_000;
/** Against another checkout each kind has so long, and the system so long to get over it. */
const SECONDS_EACH = 20;
const REST_MS = 10_000;
/** Seen from `dist/src/prove`. */
const fileOf = (name: string): string => fileURLToPath(new URL(`../../../prove/${name}.md`, import.meta.url));

const given = optionsFrom(
  {
    minutes: { or: MINUTES, min: 1, max: 10_000 },
    hops: { or: 0, min: 0, max: 1 },
    seconds: { or: SECONDS_EACH, min: 1, max: 60 },
    seed: { or: testSeed(), min: 0, max: SEED_MAX },
  },
  ['kinds', 'against'],
);
const kinds = given === null ? null : readKinds(given.kinds);
if (given === null || kinds === null) process.exitCode = EXIT_WRONG_ARGUMENTS;
else if (given.against === undefined) process.exitCode = (await prove(given, kinds)) ? 0 : 1;
else await showBefore(given.against, kinds, given.seconds);

/** True when no good request was refused and no process has grown. */
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
      onAttack: ({ kind, good }) => log(`${kind}: ${wrongOf(good.calls)} of ${good.calls.asked} calls not served`),
    });
    const wrong = [...judgeStrangers(seen), ...judgeRate(seen)];
    const report = renderVerification({ minutes, hops, seed, secondsEach, wrong, seen });
    process.stdout.write(`\n${report}`);
    write(hops === 0 ? 'strangers' : 'strangers-hop', report);
    return wrong.length === 0;
  } finally {
    await world.end();
  }
}

/** What each kind does to another checkout: nothing is judged. */
async function showBefore(against: string, all: readonly AttackKind[], secondsEach: number): Promise<void> {
  const log = beginVerification();
  const world = await StrangersWorld.begin({ name: 'prove-strangers', hops: 0, against });
  breakOffBy(() => world.end());
  try {
    const onAttack = ({ kind }: { kind: AttackKind }): void => log(kind);
    const options = { kinds: all, secondsEach, connectionsMax: CONNECTIONS_MAX, restMs: REST_MS, onAttack };
    const report = renderBefore(await attackInTurn(world, options), secondsEach);
    process.stdout.write(`\n${report}`);
    write('strangers-before', report);
  } finally {
    await world.end();
  }
}

function write(name: string, report: string): void {
  mkdirSync(dirname(fileOf(name)), { recursive: true });
  writeFileSync(fileOf(name), report);
}

function readKinds(text: string | undefined): AttackKind[] | null {
  try {
    return kindsFrom(text);
  } catch (error) {
    process.stderr.write(`--kinds: ${(error as Error).message}\n`);
    return null;
  }
}
