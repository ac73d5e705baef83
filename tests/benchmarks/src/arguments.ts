import { parseArgs } from 'node:util';
import { PEER_IDS } from './peers/peer.js';
import type { ListedPeer } from './peers/peer.js';
import { SCENARIO_IDS } from './scenarios.js';

export interface BenchArguments {
  readonly rounds: number;
  /** Measured seconds of each scenario for each peer in each round. */
  readonly seconds: number;
  /** Always includes the direct call, because latency is compared with it. */
  readonly peers: readonly ListedPeer[];
  /** Scenarios to measure, from {@link SCENARIO_IDS}. */
  readonly scenarios: readonly string[];
  /** Number of accounts of the gateway. Each makes at most 60 calls a minute. */
  readonly accounts: number;
  /** Base name of the result files. */
  readonly name: string;
  /** A short run that only checks whether everything works. Its results are not for publication. */
  readonly quick: boolean;
  /** A commit, as git accepts it, whose gateway is measured next to this build's, or null. */
  readonly against: string | null;
}

const USUAL = { rounds: 5, seconds: 4, accounts: 1_800 } as const;
const QUICK = { rounds: 2, seconds: 1, accounts: 600 } as const;
const BOUNDS = { rounds: [1, 50], seconds: [0.2, 60], accounts: [100, 20_000] } as const;
const text = { type: 'string' } as const;

/** Reads the command line. Returns problems as texts for the user. */
export function readArguments(args: readonly string[]): BenchArguments | { readonly problems: readonly string[] } {
  let given;
  try {
    given = parseArgs({
      args: [...args],
      options: {
        rounds: text,
        seconds: text,
        accounts: text,
        only: text,
        scenarios: text,
        name: text,
        against: text,
        quick: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return { problems: [(error as Error).message] };
  }
  const problems: string[] = [];
  const { quick } = given;
  const usual = quick ? QUICK : USUAL;
  const number = (name: keyof typeof USUAL, isInteger: boolean): number => {
    const value = Number(given[name] ?? usual[name]);
    const [min, max] = BOUNDS[name];
    if (!(value >= min && value <= max) || (isInteger && !Number.isInteger(value))) {
      problems.push(`--${name} must be ${isInteger ? 'an integer' : 'a number'} from ${min} to ${max}`);
    }
    return value;
  };
  const result = {
    rounds: number('rounds', true),
    seconds: number('seconds', false),
    accounts: number('accounts', true),
    peers: readPeers(given.only, problems),
    scenarios: readScenarios(given.scenarios, problems),
    name: readName(given.name ?? (quick ? 'quick' : 'gateway-and-peers'), problems),
    quick,
    against: readAgainst(given.against, problems),
  };
  if (result.against !== null && !result.peers.includes('gateway'))
    problems.push('--against compares with the gateway: --only must name it');
  return problems.length > 0 ? { problems } : result;
}

function readPeers(text: string | undefined, problems: string[]): ListedPeer[] {
  const wanted = text?.split(',').map((name) => name.trim()) ?? [...PEER_IDS];
  for (const name of wanted) {
    if (!PEER_IDS.some((id) => id === name))
      problems.push(`--only: unknown peer "${name}": known are ${PEER_IDS.join(', ')}`);
  }
  return PEER_IDS.filter((id) => id === 'direct' || wanted.includes(id));
}

function readScenarios(text: string | undefined, problems: string[]): string[] {
  const wanted = text?.split(',').map((name) => name.trim()) ?? SCENARIO_IDS;
  for (const name of wanted) {
    if (!SCENARIO_IDS.includes(name))
      problems.push(`--scenarios: unknown scenario "${name}": known are ${SCENARIO_IDS.join(', ')}`);
  }
  return SCENARIO_IDS.filter((id) => wanted.includes(id));
}

function readAgainst(text: string | undefined, problems: string[]): string | null {
  if (text === '') problems.push('--against needs a commit');
  return text ?? null;
}

function readName(text: string, problems: string[]): string {
  if (!/^[a-z0-9][a-z0-9-]{0,60}$/.test(text)) problems.push('--name must be lower-case letters, digits and hyphens');
  return text;
}
