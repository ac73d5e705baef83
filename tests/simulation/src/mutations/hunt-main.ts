import { register } from 'node:module';
import type { Failure } from '../run/run-seeds.js';
import { plant } from './mutating-loader.js';
import { MUTATIONS, type RunKind } from './mutations.js';
import type { Scenario } from '../scenario/scenario.js';

/** The last line that a search prints. */
export interface SearchResult {
  readonly seeds: number;
  readonly rule: string | null;
}

/** Number of calls in a run of clients that call one at a time. */
const SERIES_CALLS = 100;

const [name, seedsMax] = process.argv.slice(2);
const mutation = MUTATIONS.find((one) => one.name === name);
if (mutation === undefined) throw new Error(`unknown mutation ${name}`);
register('./mutating-loader.js', import.meta.url, { data: mutation });

// The services' modules must be loaded after the loader is registered.
const { openRedis } = await import('../run/open-redis.js');
const { makeSeries } = await import('../scenario/make-series.js');
const { makeScenario } = await import('../scenario/make-scenario.js');
const { makeSilence } = await import('../scenario/make-silence.js');
const { makeGone } = await import('../scenario/make-gone.js');
const { makeNearEnd } = await import('../scenario/make-near-end.js');
const { makeKept } = await import('../scenario/make-kept.js');
const { makeLate } = await import('../scenario/make-late.js');
const { makeOutage } = await import('../scenario/make-outage.js');
const { makePromoted } = await import('../scenario/make-promoted.js');
const { makeFailover } = await import('../scenario/make-failover.js');
const { play } = await import('../run/play.js');
let wasPlanted = !mutation.file.endsWith('.lua');
const redis = await openRedis((_script, text) => {
  if (wasPlanted && !mutation.file.endsWith('.lua')) return text;
  if (!text.includes(mutation.from)) return text;
  wasPlanted = true;
  return plant(mutation, text);
});
if (!wasPlanted) throw new Error(`${mutation.name}: no script contains the text to replace`);
let found: Failure | null = null;
let seed = 0;
while (found === null && seed < Number(seedsMax)) {
  seed += 1;
  const scenario = scenarioOf(seed, mutation.stage);
  const { violations } = await play(scenario, redis);
  const [first] = violations;
  if (first !== undefined) found = { seed, text: first.rule };
}

function scenarioOf(ofSeed: number, stage: RunKind | undefined): Scenario {
  switch (stage) {
    case undefined:
      return makeScenario(ofSeed);
    case 'silence':
      return makeSilence(ofSeed);
    case 'gone':
      return makeGone(ofSeed);
    case 'failover':
      return makeFailover(ofSeed);
    case 'kept':
      return makeKept(ofSeed);
    case 'windows':
      return makeNearEnd(ofSeed);
    case 'late':
      return makeLate(ofSeed);
    case 'outage':
      return makeOutage(ofSeed);
    case 'promoted':
      return makePromoted(ofSeed);
    default:
      return makeSeries(ofSeed, SERIES_CALLS, stage);
  }
}

const hunted: SearchResult = { seeds: seed, rule: found?.text ?? null };
console.log(JSON.stringify(hunted));
