import { Random } from '../time/random.js';
import { PLAIN_CALL, PLAIN_SCENARIO } from './plain-scenario.js';
import type { Act, CallAct, Fault, Scenario } from './scenario.js';

/** By this time all processes know each other. */
const FIRST_CALL_MS = 3_000;
const CLIENTS = 4;
const CALLS_OF_CLIENT = 40;
/** Somewhat more than the worst case and the cost of a call. */
const CALL_NANO_USD = 4_000;
const LENGTH_MS = 20_000;
const PROMOTIONS_WITHIN_MS = 4_000;
const COMMITS_MAX = 3;
const CHARGEBACK_WITHIN_MS = 500;

/**
 * Makes clients use up a wallet while standbys of the ledger are promoted. Accounts, whose database
 * is on the same server, answers late. A chargeback follows soon after some promotions.
 */
export function makePromoted(seed: number): Scenario {
  const random = new Random(seed);
  const faults = Array.from({ length: 3 }, () => promotions(random)).flat();
  return {
    ...PLAIN_SCENARIO,
    seed,
    accounts: [
      { name: 'acc-alpha', walletNanoUsd: random.between(10, 40) * CALL_NANO_USD, plan: null, capNanoUsd: null },
    ],
    plans: [],
    acts: [
      ...Array.from({ length: CLIENTS }, () => ({
        kind: 'series' as const,
        at: FIRST_CALL_MS,
        calls: Array.from({ length: CALLS_OF_CLIENT }, () => callOf(random)),
      })),
      ...faults.flatMap((fault) => chargebackAfter(fault, random)),
    ],
    faults,
    quietAt: FIRST_CALL_MS + LENGTH_MS,
  };
}

function chargebackAfter(fault: Fault, random: Random): Act[] {
  if (fault.kind !== 'promotion' || random.chance(0.7)) return [];
  const amountNanoUsd = -random.between(1, 10) * CALL_NANO_USD;
  return [{ kind: 'wallet', at: fault.at + random.below(CHARGEBACK_WITHIN_MS), account: 0, amountNanoUsd }];
}

/** Returns two promotions. The second comes while loads of the first wait for accounts. */
function promotions(random: Random): Fault[] {
  const at = FIRST_CALL_MS + random.below(PROMOTIONS_WITHIN_MS);
  return [
    { kind: 'promotion', at, commits: random.below(COMMITS_MAX + 1) },
    { kind: 'hang', host: 'accounts', at: at + random.below(300), ms: random.pick([200, 1_000, 3_000]) },
    { kind: 'promotion', at: at + random.between(50, 1_500), commits: random.below(COMMITS_MAX + 1) },
  ];
}

function callOf(random: Random): CallAct {
  return {
    ...PLAIN_CALL,
    at: 0,
    edge: random.below(2),
    streamed: random.chance(0.5),
    provider: [
      {
        kind: 'answer',
        delayMs: random.pick([20, 300, 1_200]),
        gapMs: random.pick([1, 20]),
        chunks: 2,
        usage: { input: 1, output: 40 },
        breaksAfter: null,
      },
    ],
  };
}
