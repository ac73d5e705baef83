import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startOwnSystem } from '../../test/own-system.js';
import type { OwnSystem } from '../../test/own-system.js';
import { newSeed, random } from '../../test/random.js';
import { killAdmissions } from './kill-admissions.js';
import { LIMIT_CASES, limitCalled } from './limit-cases.js';
import type { LimitCase } from './limit-cases.js';
import { DURATIONS, LimitProof, REPLICAS } from './limit-proof.js';
import type { LimitFigures } from './limit-proof.js';
import { renderLimits } from './render-limits.js';

const CALLS = 10_000;
const CALLS_BOUNDS = { min: 100, max: 100_000 };
/** Of the calls of a limit one in so many fits. */
const ONE_FITS_IN = 10;
const EXIT_WRONG_ARGUMENTS = 2;
/** Seen from `dist/src/prove`. */
const RESULT_FILE = fileURLToPath(new URL('../../../prove/limits.md', import.meta.url));

const given = readArguments();
if (given === null) process.exitCode = EXIT_WRONG_ARGUMENTS;
else process.exitCode = (await prove(given)) ? 0 : 1;

interface Proof {
  readonly calls: number;
  readonly seed: number;
  readonly limits: readonly LimitCase[];
}

function readArguments(): Proof | null {
  const options = { calls: { type: 'string' }, seed: { type: 'string' }, only: { type: 'string' } } as const;
  const { min, max } = CALLS_BOUNDS;
  try {
    const { values } = parseArgs({ options, strict: true, allowPositionals: false });
    const calls = Number(values.calls ?? CALLS);
    const seed = Number(values.seed ?? newSeed());
    const limits = values.only === undefined ? LIMIT_CASES : [limitCalled(values.only)];
    if (Number.isInteger(calls) && calls >= min && calls <= max && Number.isInteger(seed)) {
      return { calls, seed, limits };
    }
    process.stderr.write(`--calls is an integer from ${min} to ${max}, --seed an integer\n`);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
  }
  return null;
}

/** Presses the limits of a system of its own; true when each held. The figures of all are written either way. */
async function prove(proof: Proof): Promise<boolean> {
  const { calls, seed, limits } = proof;
  // The proof runs on servers of its own: addresses and settings of the caller's shell are not for it.
  for (const name of Object.keys(process.env)) if (name.startsWith('GATEWAY_')) delete process.env[name];
  const startedAt = performance.now();
  const say = (line: string): void => {
    process.stdout.write(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
  };
  say(`${calls} calls of each limit, seed ${seed}`);
  const system = await startOwnSystem('prove-limits', DURATIONS, REPLICAS);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void breakOff(system, signal));
  try {
    const figures = await pressAll(system, proof, say);
    const report = renderLimits(figures, calls, seed);
    process.stdout.write(`\n${report}`);
    if (limits === LIMIT_CASES) {
      mkdirSync(dirname(RESULT_FILE), { recursive: true });
      writeFileSync(RESULT_FILE, report);
      say(`wrote ${RESULT_FILE}`);
    }
    const differences = figures.flatMap((one) => one.differences);
    for (const difference of differences) say(difference);
    return differences.length === 0;
  } finally {
    await system.stop();
  }
}

async function pressAll(
  system: OwnSystem,
  { calls, seed, limits }: Proof,
  say: (line: string) => void,
): Promise<LimitFigures[]> {
  const next = random(seed);
  const proof = await LimitProof.begin(system);
  try {
    const figures: LimitFigures[] = [];
    for (const limit of limits) {
      const one = await proof.press(limit, calls, Math.floor(calls / ONE_FITS_IN), killAdmissions(system, next));
      figures.push(one);
      const { fit, admitted, overshoot, kills, faults, expired, ms, differences } = one;
      say(
        `${limit.name}: ${admitted} admitted, ${fit} fit, overshoot ${overshoot}, ${kills} kills, ${faults} answers of 500, ${expired} expired, ` +
          `${(ms / 1000).toFixed(1)} s, ${differences.length} differences`,
      );
    }
    return figures;
  } finally {
    await proof.end();
  }
}

async function breakOff(system: OwnSystem, signal: NodeJS.Signals): Promise<never> {
  process.stderr.write(`${signal}: stopping\n`);
  await system.stop();
  process.exit(1);
}
