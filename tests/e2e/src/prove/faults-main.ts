// `npm run prove:faults`: calls under random faults, in slices. Each run continues an interrupted
// one, so that a long verification can be split.
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { FAULTS_MIX } from '../faults/call-plan.js';
import { FaultRun } from '../faults/fault-run.js';
import { runFaults } from '../faults/run-faults.js';
import { beginVerification, breakOffBy, optionsFrom } from './begin-verification.js';
import {
  addSlice,
  beginOrGoOn,
  dueSlice,
  type FaultsFigures,
  type Slice,
  type SliceFigures,
} from './faults-figures.js';
import { isFrom, readFigures, writeFigures } from './figures-file.js';
import { measureSlice } from './measure-slice.js';
import { renderFaults } from './render-faults.js';

const CALLS = 100_000;
const FAULTS = 100;
const EXIT_WRONG_ARGUMENTS = 2;
const PROOF = 'faults';

const given = optionsFrom(
  {
    calls: { or: CALLS, min: 100, max: 10_000_000 },
    faults: { or: FAULTS, min: 1, max: 100_000 },
    slice: { or: CALLS, min: 100, max: CALLS },
    seed: { or: testSeed(), min: 0, max: SEED_MAX },
  },
  ['from'],
);
if (given === null || !isFrom(given.from)) {
  process.stderr.write('--from must be new or last (the default)\n');
  process.exitCode = EXIT_WRONG_ARGUMENTS;
} else {
  const before = given.from === 'new' ? null : readFigures<FaultsFigures>(PROOF);
  const { calls, faults, slice, seed } = given;
  process.exitCode = (await prove(beginOrGoOn(before, { calls, faults, slice }, seed))) ? 0 : 1;
}

/**
 * Runs the slices that are due, until a slice has a difference. Returns true if no slice has one,
 * including those of earlier runs.
 */
async function prove(begun: FaultsFigures): Promise<boolean> {
  const log = beginVerification();
  let figures = begun;
  for (let due = dueSlice(figures); due !== null; due = dueSlice(figures)) {
    log(`slice ${figures.slices.length + 1}: ${due.calls} calls, ${due.faults} faults, seed ${due.seed}`);
    const played = await play(due, log);
    figures = addSlice(figures, due, played);
    writeFigures(PROOF, figures, renderFaults(figures));
    if (played.differences > 0) break;
  }
  process.stdout.write(`\n${renderFaults(figures)}`);
  return figures.differences === 0;
}

/** Runs a slice on a new system. */
async function play({ calls, faults, seed }: Slice, log: (line: string) => void): Promise<SliceFigures> {
  const run = await FaultRun.begin('prove-faults', calls);
  breakOffBy(() => run.end());
  try {
    const done = await runFaults(run, { calls, faults, seed, mix: FAULTS_MIX, log });
    const { violations, counterExample } = done.check;
    for (const violation of violations) log(violation);
    if (counterExample !== null) process.stdout.write(`\nThe smallest counterexample: ${counterExample}\n`);
    return measureSlice(done);
  } finally {
    await run.end();
  }
}
