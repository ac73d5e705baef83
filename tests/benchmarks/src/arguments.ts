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
const OPTIONS = ['--rounds', '--seconds', '--accounts', '--only', '--scenarios', '--name', '--against'] as const;

/** Reads the command line. Returns all problems at once. */
export function readArguments(args: readonly string[]): BenchArguments | { readonly problems: readonly string[] } {
  const problems: string[] = [];
  const given = new Map<string, string>();
  let quick = false;
  for (let at = 0; at < args.length; at += 1) {
    const [option = '', inline] = splitOnce(args[at] ?? '');
    if (option === '--quick') quick = true;
    else if (OPTIONS.some((known) => known === option)) {
      const value = inline ?? args[(at += 1)];
      if (value === undefined || value.startsWith('--')) problems.push(`${option} needs a value`);
      else given.set(option.slice(2), value);
    } else problems.push(`unknown option "${option}": known are ${[...OPTIONS, '--quick'].join(', ')}`);
  }
  const usual = quick ? QUICK : USUAL;
  const number = (name: keyof typeof USUAL, isInteger: boolean): number => {
    const value = Number(given.get(name) ?? usual[name]);
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
    peers: readPeers(given.get('only'), problems),
    scenarios: readScenarios(given.get('scenarios'), problems),
    name: readName(given.get('name') ?? (quick ? 'quick' : 'gateway-and-peers'), problems),
    quick,
    against: readAgainst(given.get('against'), problems),
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

function splitOnce(text: string): [string, string | undefined] {
  const at = text.indexOf('=');
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
