import { parseArgs } from 'node:util';
import { SCENARIO_IDS } from './edge/scenarios.js';
import { type ListedPeer, PEER_IDS } from './peers/peer.js';

type Range = readonly [usual: number, quick: number, min: number, max: number];

/** The benchmarks with their numeric options: default, default with `--quick`, lowest, highest. */
const NUMBERS = {
  edge: { rounds: [5, 2, 1, 50], seconds: [4, 1, 0.2, 60], accounts: [1_800, 600, 100, 20_000] },
  telemetry: { rounds: [5, 2, 1, 50], seconds: [4, 1, 0.2, 60], accounts: [1_800, 600, 100, 20_000] },
  admission: {
    rounds: [40, 5, 1, 1_000],
    accounts: [1_000_000, 20_000, 1_000, 10_000_000],
    calls: [40_000, 4_000, 100, 10_000_000],
  },
  billing: {
    events: [100_000, 10_000, 1_000, 10_000_000],
    earlier: [2_000_000, 100_000, 1_000, 100_000_000],
    live: [1_000, 1_000, 1, 100_000],
    backlog: [60, 5, 1, 3_600],
  },
  dashboard: {
    rounds: [4, 1, 1, 50],
    records: [1_000_000, 50_000, 1_000, 100_000_000],
    events: [60_000, 10_000, 1_000, 10_000_000],
  },
} as const satisfies Record<string, Record<string, Range>>;

export type BenchmarkName = keyof typeof NUMBERS;
type NumberName = { [B in BenchmarkName]: keyof (typeof NUMBERS)[B] }[BenchmarkName];

/** Options of a run. A number that the benchmark does not have is 0. */
export interface BenchOptions extends Readonly<Record<NumberName, number>> {
  readonly benchmark: BenchmarkName;
  /** Always includes the direct call, because latency is compared with it. */
  readonly peers: readonly ListedPeer[];
  /** Scenarios of the edge to measure, from {@link SCENARIO_IDS}. */
  readonly scenarios: readonly string[];
  /** Base name of the result files. */
  readonly name: string;
  /** A short run that only checks whether everything works. Its results are not for publication. */
  readonly quick: boolean;
  /** A commit, as git accepts it, whose gateway is measured next to this build's, or null. */
  readonly against: string | null;
  /** Another Node program that also runs this build, or null. */
  readonly node: string | null;
}

const NUMBER_NAMES = [...new Set(Object.values(NUMBERS).flatMap(Object.keys))] as NumberName[];
const EDGE_TEXTS = ['only', 'scenarios', 'against', 'node'] as const;
const INTEGER = /^\d+$/;

/** Reads the command line. Returns problems as texts for the user. */
export function readOptions(args: readonly string[]): BenchOptions | { readonly problems: readonly string[] } {
  let parsed;
  try {
    const text = { type: 'string' } as const;
    const texts = Object.fromEntries([...NUMBER_NAMES, ...EDGE_TEXTS, 'name'].map((name) => [name, text]));
    const options = { ...texts, quick: { type: 'boolean', default: false } } as const;
    parsed = parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    return { problems: [(error as Error).message] };
  }
  const given = parsed.values as Readonly<Record<string, string | boolean | undefined>> as Readonly<
    Record<string, string | undefined>
  >;
  const [benchmark = 'edge', ...others] = parsed.positionals as BenchmarkName[];
  const known = Object.keys(NUMBERS);
  if (!known.includes(benchmark) || others.length > 0)
    return { problems: [`unknown benchmark "${[benchmark, ...others].join(' ')}": known are ${known.join(', ')}`] };
  const quick = Boolean(given['quick']);
  const ranges: Readonly<Record<string, Range>> = NUMBERS[benchmark];
  const problems = Object.keys(given)
    .filter((name) => !(name in ranges) && !['name', 'quick'].includes(name))
    .filter((name) => benchmark !== 'edge' || !EDGE_TEXTS.some((one) => one === name))
    .map((name) => `--${name} is not an option of ${benchmark}`);
  const number = (name: NumberName): number => {
    const [usual, short, min, max] = ranges[name] ?? [0, 0, 0, 0];
    const text = given[name] ?? String(quick ? short : usual);
    const isInteger = name !== 'seconds';
    if (!(Number(text) >= min && Number(text) <= max) || (isInteger && !INTEGER.test(text)))
      problems.push(`--${name} must be ${isInteger ? 'an integer' : 'a number'} from ${min} to ${max}`);
    return Number(text);
  };
  const list = <T extends string>(option: string, all: readonly T[]): T[] => {
    const wanted: readonly string[] = given[option]?.split(',').map((name) => name.trim()) ?? all;
    for (const name of wanted) {
      if (!all.some((id) => id === name)) problems.push(`--${option}: unknown "${name}": known are ${all.join(', ')}`);
    }
    return all.filter((id) => wanted.includes(id));
  };
  const numbers = Object.fromEntries(NUMBER_NAMES.map((name) => [name, name in ranges ? number(name) : 0]));
  const peers = list('only', PEER_IDS);
  const result = {
    ...(numbers as Record<NumberName, number>),
    benchmark,
    peers: PEER_IDS.filter((id) => id === 'direct' || peers.includes(id)),
    scenarios: list('scenarios', SCENARIO_IDS),
    name: given['name'] ?? (quick ? 'quick' : benchmark === 'edge' ? 'gateway-and-peers' : benchmark),
    quick,
    against: given['against'] ?? null,
    node: given['node'] ?? null,
  };
  if (!/^[a-z0-9][a-z0-9-]{0,60}$/.test(result.name))
    problems.push('--name must be lower-case letters, digits and hyphens');
  if (result.against === '') problems.push('--against needs a commit');
  if ((result.against ?? result.node) !== null && !peers.includes('gateway'))
    problems.push('--against and --node compare with the gateway: --only must name it');
  return problems.length > 0 ? { problems } : result;
}
