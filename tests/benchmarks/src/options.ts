import { parseArgs } from 'node:util';
import { PEER_IDS, type PeerId, SCENARIO_IDS, USUAL_IDS } from './edge/scenarios.js';

/** The benchmarks with their numeric options: the default, and the default with `--quick`. */
const NUMBERS = {
  edge: { rounds: [5, 2], seconds: [4, 1], accounts: [1_800, 100] },
  telemetry: { rounds: [5, 2], seconds: [4, 1], accounts: [1_800, 100] },
  admission: { rounds: [40, 5], accounts: [100_000, 5_000], calls: [40_000, 4_000] },
  billing: { events: [100_000, 10_000], earlier: [2_000_000, 100_000], live: [1_000, 1_000], backlog: [60, 5] },
  dashboard: { records: [1_000_000, 50_000], events: [60_000, 10_000] },
} as const;

export type BenchmarkName = keyof typeof NUMBERS;
type NumberName = { [B in BenchmarkName]: keyof (typeof NUMBERS)[B] }[BenchmarkName];

/** Options of a run, with the numbers of its benchmark only. */
export interface BenchOptions extends Readonly<Record<NumberName, number>> {
  readonly benchmark: BenchmarkName;
  /** Always includes the direct call, because latency is compared with it. */
  readonly peers: readonly PeerId[];
  readonly scenarios: readonly string[];
  /** Base name of the result files. */
  readonly name: string;
  /** A short run that only checks whether everything works. Its results are not for publication. */
  readonly quick: boolean;
  /** Commits, as git accepts them, whose gateways are measured next to this build's. */
  readonly against: readonly string[];
  /** Another Node program that also runs this build. */
  readonly node: string | undefined;
}

/** Reads the command line. @throws Error with a text for the user */
export function readOptions(args: readonly string[]): BenchOptions {
  const isNamed = args[0]?.startsWith('-') === false;
  const benchmark = (isNamed ? args[0] : 'edge') as BenchmarkName;
  if (!(benchmark in NUMBERS))
    throw new Error(`unknown benchmark "${benchmark}": known are ${Object.keys(NUMBERS).join(', ')}`);
  const numbers: Readonly<Record<string, readonly [number, number]>> = NUMBERS[benchmark];
  const texts = benchmark === 'edge' ? ['only', 'scenarios', 'against', 'node', 'name'] : ['name'];
  const text = { type: 'string' } as const;
  const { quick = false, ...given } = parseArgs({
    args: args.slice(isNamed ? 1 : 0),
    options: {
      quick: { type: 'boolean' as const },
      ...Object.fromEntries([...Object.keys(numbers), ...texts].map((name) => [name, text])),
    },
  }).values as { quick?: boolean } & Record<string, string>;
  const values = Object.entries(numbers).map(([name, [usual, short]]) => {
    const value = Number(given[name] ?? (quick ? short : usual));
    if (!(value > 0)) throw new Error(`--${name} must be a number above 0`);
    return [name, value];
  });
  const list = <T extends string>(option: string, known: readonly T[], usual: readonly string[] = known): T[] => {
    const wanted = given[option]?.split(',') ?? usual;
    const unknown = wanted.filter((name) => !known.some((one) => one === name));
    if (unknown.length > 0)
      throw new Error(`--${option}: unknown ${unknown.join(', ')}: known are ${known.join(', ')}`);
    return known.filter((id) => wanted.includes(id));
  };
  const name = given['name'] ?? (quick ? 'quick' : benchmark);
  if (!/^[a-z0-9-]+$/.test(name)) throw new Error('--name must be lower-case letters, digits and hyphens');
  const peers = list('only', PEER_IDS);
  return {
    ...(Object.fromEntries(values) as Record<NumberName, number>),
    benchmark,
    peers: PEER_IDS.filter((id) => id === 'direct' || peers.includes(id)),
    scenarios: list('scenarios', SCENARIO_IDS, USUAL_IDS),
    name,
    quick,
    against: given['against']?.split(',') ?? [],
    node: given['node'],
  };
}
