// Each test falsifies one place in the logs of a correct run. The checker must find it.
import { expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { tokensOf } from '../load/call-plan.js';
import { checkEvidence } from './check-evidence.js';
import type { ClientCall, Evidence, FaultDone, LedgerTransaction, ProviderCall, UsageRecord } from './evidence.js';
import { chargeOf } from '../load/accounts.js';
import { RECOVERY_MS, isDuringFault } from './judge-call.js';

const ACCOUNT = '00000000-0000-7000-8000-000000000001';
const CREDIT = 1_000_000_000n;
/** Thirty seconds after the start of a minute. */
const AT = 1_800_000_030_000;
const APART_MS = 1_000;

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** The logs of one call, writable so that a test can falsify them. */
interface Forged {
  call: Writable<ClientCall>;
  provider: Writable<ProviderCall>[];
  records: Writable<UsageRecord>[];
  ledger: (Omit<LedgerTransaction, 'entries'> & { entries: { ledgerAccount: string; amountNanoUsd: bigint }[] })[];
}

interface Scene {
  whole: Forged;
  refused: Forged;
  cut: Forged;
  left: Forged;
  faults: Writable<FaultDone>[];
  evidence: { -readonly [Name in 'accounts' | 'terms']: Writable<Evidence[Name][number]>[] };
}

function scene(): Scene {
  const whole = callAt(1);
  const refused = callAt(2);
  Object.assign(refused.call, {
    ending: 'refused',
    status: 500,
    code: 'upstream_error',
    text: 'beginning',
    usage: null,
  });
  Object.assign(only(refused.provider), { ending: 'failed', usage: null });
  uncharged(refused);
  const cut = callAt(3);
  Object.assign(cut.call, { ending: 'cut', text: 'beginning', usage: null, streamed: true });
  Object.assign(only(cut.provider), { ending: 'cut', usage: null });
  Object.assign(only(cut.records), { streamed: true });
  uncharged(cut);
  const left = callAt(4);
  Object.assign(left.call, { ending: 'left', text: 'beginning', usage: null, requestId: null, status: null });
  const terms = { account: ACCOUNT, creditNanoUsd: CREDIT, slots: 2, requestsPerMinute: null };
  const state = { account: ACCOUNT, slots: 0, holds: 0, heldSums: [], walletNanoUsd: 0n, viewNanoUsd: 0n };
  const evidence = { terms: [{ ...terms, windowRequests: null, keyCapNanoUsd: null }], accounts: [state] };
  return { whole, refused, cut, left, faults: [], evidence };
}

function callAt(n: number): Forged {
  const begunAt = AT + n * APART_MS;
  const requestId = makeUuidV7(begunAt);
  const charge = chargeOf('rated', tokensOf(n));
  const base = { account: ACCOUNT, streamed: false };
  return {
    call: {
      ...base,
      n,
      model: 'rated',
      edge: 0,
      client: 'http',
      requestId,
      status: 200,
      code: null,
      ending: 'whole',
      text: 'all',
      usage: tokensOf(n),
      begunAt,
      endedAt: begunAt + 500,
    },
    provider: [{ n, source: 'a', ending: 'whole', usage: tokensOf(n), begunAt: begunAt + 100, endedAt: begunAt + 400 }],
    records: [
      {
        ...base,
        requestId,
        outcome: 'settled',
        evidence: 'reported',
        tokens: tokensOf(n),
        startedAt: begunAt + 10,
        chargedNanoUsd: charge,
        walletNanoUsd: charge,
        planNanoUsd: 0n,
      },
    ],
    ledger: [paid(requestId, charge)],
  };
}

function paid(requestId: string, charge: bigint): Forged['ledger'][number] {
  const entries = [
    { ledgerAccount: `wallet:${ACCOUNT}`, amountNanoUsd: -charge },
    { ledgerAccount: 'revenue:wallet', amountNanoUsd: charge },
  ];
  return { id: `tx-${requestId}`, kind: 'usage', account: ACCOUNT, requestId, entries };
}

function uncharged(forged: Forged): void {
  const nothing = { chargedNanoUsd: 0n, walletNanoUsd: 0n, tokens: null, evidence: 'none', outcome: 'voided' };
  Object.assign(only(forged.records), nothing);
  forged.ledger = [];
}

/** Assembles the evidence as a run does. `balance` changes the wallet that the API reports. */
function evidenceOf(made: Scene, balance: (right: bigint) => bigint = (right) => right): Evidence {
  const calls = [made.whole, made.refused, made.cut, made.left];
  const credit = { ledgerAccount: `wallet:${ACCOUNT}`, amountNanoUsd: CREDIT };
  const funding = { ledgerAccount: 'funding', amountNanoUsd: -CREDIT };
  const ledger = [
    { id: 'tx-credit', kind: 'credit', account: ACCOUNT, requestId: null, entries: [credit, funding] },
    ...calls.flatMap((forged) => forged.ledger),
  ];
  const spent = calls.flatMap(({ records }) => records).reduce((sum, record) => sum + record.walletNanoUsd, 0n);
  const states = made.evidence.accounts.map((state) => ({
    ...state,
    walletNanoUsd: balance(CREDIT - spent),
    viewNanoUsd: CREDIT - spent,
  }));
  return {
    calls: calls.map(({ call }) => call),
    provider: calls.flatMap(({ provider }) => provider),
    records: calls.flatMap(({ records }) => records),
    ledger,
    terms: made.evidence.terms,
    accounts: states,
    faults: made.faults,
    leaseMs: 5_000,
  };
}

function only<T>(list: readonly T[]): T {
  const [one] = list;
  if (one === undefined) throw new Error('the list is empty');
  return one;
}

const killed = (edge: number): FaultDone => ({
  what: 'kill',
  target: `edge-proxy-${edge}`,
  from: AT,
  until: AT + 9 * APART_MS,
});

test('checkEvidence reports nothing for a correct run', () => {
  const { counts, ...found } = checkEvidence(evidenceOf(scene()));
  expect(found).toEqual({ violations: [], counterExample: null });
  expect(counts).toMatchObject({ made: 4, 'of them streamed': 1, cut: 1, 'records settled': 2, 'records voided': 2 });
  expect(checkEvidence(evidenceOf(scene()), ['a rule of the run']).violations).toEqual(['a rule of the run']);
});

const PLANTED: readonly (readonly [string, (made: Scene) => void, RegExp])[] = [
  ['a lost record of a response', ({ whole }) => void (whole.records = []), /reached the provider and has no record/],
  [
    'a lost record of a refusal',
    ({ refused }) => void (refused.records = []),
    /reached the provider and has no record/,
  ],
  ['a lost record without an ID', ({ left }) => void (left.records = []), /reached the provider and has no record/],
  ['a doubled record', ({ whole }) => void whole.records.push(only(whole.records)), /has 2 records/],
  [
    'a doubled charge',
    ({ whole }) => void whole.ledger.push({ ...only(whole.ledger), id: 'tx-again' }),
    /from the wallet by its record and/,
  ],
  [
    'a charge wrong by a nano-USD',
    ({ whole: { records } }) => {
      const record = only(records);
      Object.assign(record, { chargedNanoUsd: record.chargedNanoUsd + 1n, walletNanoUsd: record.walletNanoUsd + 1n });
    },
    /costs \d+ and was charged/,
  ],
  ['a voided response', ({ whole }) => uncharged(whole), /was answered and is voided/],
  [
    'a record with other tokens',
    ({ whole }) => void (only(whole.records).tokens = { input: 1, output: 1 }),
    /another usage than the provider reported/,
  ],
  [
    'a client that read another usage',
    ({ whole }) => void (whole.call.usage = { input: 1, output: 1 }),
    /answered with another usage/,
  ],
  [
    'an estimate for a complete response',
    ({ whole }) => void (only(whole.records).evidence = 'estimated'),
    /another usage than the provider reported/,
  ],
  ['a cut stream ended as complete', ({ whole }) => void (whole.call.text = 'beginning'), /only a part of its text/],
  [
    'a response that its provider never completed',
    ({ whole }) => void (only(whole.provider).ending = 'cut'),
    /the provider had not completed it/,
  ],
  [
    'a charged error',
    ({ refused }) =>
      Object.assign(only(refused.records), { ...settled(2) }) && refused.ledger.push(paidFor(refused, 2)),
    /was answered with an error and charged/,
  ],
  [
    'a charged cut',
    ({ cut }) => Object.assign(only(cut.records), { ...settled(3) }) && cut.ledger.push(paidFor(cut, 3)),
    /was cut short, not by its client, and charged/,
  ],
  [
    'a complete response that was free after a disconnect',
    ({ left }) => uncharged(left),
    /not charged after its client disconnected/,
  ],
  [
    'a charge above the worst case after a disconnect',
    ({ left }) => {
      const record = only(left.records);
      Object.assign(record, { evidence: 'estimated', tokens: null, chargedNanoUsd: 10_000_000n });
    },
    /above its worst case/,
  ],
  [
    'an expiry while the edge was alive',
    ({ cut }) => void (only(cut.records).outcome = 'expired'),
    /expired while its edge was alive/,
  ],
  [
    'a settled call that never reached the provider',
    ({ left }) => void (left.provider = []),
    /is settled and never reached the provider/,
  ],
  [
    'a call that the provider served twice',
    ({ left }) => void left.provider.push({ ...only(left.provider), source: 'b' }),
    /served 2 times by the provider/,
  ],
  [
    'a record without a client',
    ({ whole }) => void (only(whole.records).requestId = makeUuidV7(AT - 100_000)),
    /no client made it/,
  ],
  ['one ID for two calls', ({ cut, refused }) => void (cut.call.requestId = refused.call.requestId), /to two calls/],
  [
    'a transaction that does not balance',
    ({ whole }) => void only(whole.ledger).entries.pop(),
    /transaction .* sums to/,
  ],
  [
    'a charge in the ledger without a record',
    ({ whole }) => void whole.ledger.push(paid(makeUuidV7(AT), 5n)),
    /is in the ledger and has no record/,
  ],
  [
    'a 500 of the gateway without a fault',
    ({ refused }) => void (refused.call.code = 'admission_error'),
    /call 2: got a 500 admission_error without a fault/,
  ],
  ['a slot taken at the end', ({ evidence }) => void (only(evidence.accounts).slots = 1), /has 1 slots taken/],
  ['a slot released twice', ({ evidence }) => void (only(evidence.accounts).slots = -1), /has -1 slots taken/],
  ['a remaining hold', ({ evidence }) => void (only(evidence.accounts).holds = 1), /1 holds/],
  [
    'more concurrent calls than slots',
    ({ whole, refused, cut }) => {
      for (const { provider } of [whole, refused, cut])
        Object.assign(only(provider), { begunAt: AT, endedAt: AT + 50 });
    },
    /3 concurrent calls at the provider with 2 slots/,
  ],
  [
    'an exceeded window',
    ({ evidence }) => void (only(evidence.terms).windowRequests = 1),
    /has 2 calls in a window of 1/,
  ],
  ['an exceeded cap', ({ evidence }) => void (only(evidence.terms).keyCapNanoUsd = 1n), /the key of .* spent/],
  [
    'an exceeded limit per minute',
    ({ evidence }) => void (only(evidence.terms).requestsPerMinute = 3),
    /4 calls in a minute of 3/,
  ],
];

test.each(PLANTED)('checkEvidence finds %s', (_title, plant, sentence) => {
  const made = scene();
  plant(made);
  const { violations } = checkEvidence(evidenceOf(made));
  expect(violations.join('\n')).toMatch(sentence);
});

test('checkEvidence finds a wallet that differs from credit minus charges', () => {
  expect(checkEvidence(evidenceOf(scene(), (right) => right + 1n)).violations.join()).toMatch(/by the API/);
  expect(checkEvidence(evidenceOf(scene(), () => -1n)).violations.join()).toMatch(/the wallet of .* is at -1/);
});

test('a killed edge excuses the expiry of its own calls only', () => {
  const made = scene();
  only(made.cut.records).outcome = 'expired';
  made.faults = [killed(2)];
  expect(checkEvidence(evidenceOf(made)).violations).toHaveLength(1);
  made.faults = [killed(1)];
  expect(checkEvidence(evidenceOf(made)).violations).toEqual([]);
});

test('a missing record is excused if edge and limit store are lost together', () => {
  const made = scene();
  const { begunAt } = made.cut.call;
  made.cut.records = [];
  Object.assign(made.cut.call, { requestId: null, status: null });
  const kill = { ...killed(1), from: begunAt + 300, until: begunAt + 400 };
  const flush: FaultDone = { what: 'flush', target: 'redis', from: begunAt + 5_000, until: begunAt + 6_000 };
  for (const faults of [[kill], [flush], [{ ...kill, from: begunAt + 5_000, until: begunAt + 6_000 }, flush]]) {
    made.faults = faults;
    expect(checkEvidence(evidenceOf(made)).violations).toEqual(['call 3: reached the provider and has no record']);
  }
  made.faults = [kill, flush];
  const { violations, counts } = checkEvidence(evidenceOf(made));
  expect([violations, counts['lost by design, with an edge and the limit store']]).toEqual([[], 1]);
  made.cut.call.ending = 'left';
  expect(checkEvidence(evidenceOf(made)).violations).toEqual([]);
  Object.assign(only(made.cut.provider), { begunAt: begunAt - 5_000 });
  expect(checkEvidence(evidenceOf(made)).violations).toHaveLength(1);
});

test('a fault explains a 500 of the gateway until 5 s after its end', () => {
  const fault = { from: AT, until: AT + 500 };
  const isExplained = (begunAt: number, endedAt: number, faults = [fault]) =>
    isDuringFault({ begunAt, endedAt }, faults);
  expect(isExplained(AT - 9, AT)).toBe(true);
  expect(isExplained(AT - 9, AT - 1)).toBe(false);
  expect(isExplained(AT, AT, [])).toBe(false);
  const lastMs = fault.until + RECOVERY_MS;
  expect([isExplained(lastMs, lastMs), isExplained(lastMs + 1, lastMs + 1)]).toEqual([true, false]);
});

test('two disconnected calls without an ID get one record each', () => {
  const made = scene();
  const { refused: earlier, left: later } = made;
  Object.assign(earlier.call, { ending: 'left', requestId: null, status: null, code: null });
  // An estimated usage does not contain the call's number.
  Object.assign(only(later.records), { evidence: 'estimated', tokens: { input: 1, output: 0 } });
  expect(checkEvidence(evidenceOf(made)).violations).toEqual([]);
  later.records = [];
  later.ledger = [];
  expect(checkEvidence(evidenceOf(made)).violations).toEqual(['call 4: reached the provider and has no record']);
});

test('the only record goes to the call that reached the provider, not to the nearest', () => {
  const made = scene();
  const { refused: nearer, left: later } = made;
  Object.assign(nearer.call, { ending: 'left', requestId: null, status: null, code: null });
  nearer.provider = [];
  nearer.records = [];
  Object.assign(only(later.provider), { ending: 'failed', usage: null });
  uncharged(later);
  only(later.records).startedAt = nearer.call.begunAt;
  later.call.begunAt = nearer.call.begunAt + APART_MS / 2;
  expect(checkEvidence(evidenceOf(made)).violations).toEqual([]);
  // A record with a charge needs a call that reached the provider.
  Object.assign(only(later.records), { outcome: 'settled', evidence: 'estimated', tokens: { input: 1, output: 0 } });
  expect(checkEvidence(evidenceOf(made)).violations.join()).not.toMatch(/never reached the provider|has no record/);
});

test('the counterexample describes the call with the fewest lines', () => {
  const made = scene();
  made.whole.call.text = 'beginning';
  made.whole.provider.push({ ...only(made.whole.provider), source: 'b', ending: 'failed' });
  made.refused.records = [];
  made.faults = [{ what: 'freeze', target: 'nats', from: AT, until: AT + 2_500 }];
  const { counterExample, violations } = checkEvidence(evidenceOf(made));
  expect(violations).toHaveLength(2);
  expect(counterExample?.split('\n').map((line) => line.slice(16).trim())).toEqual([
    expect.stringContaining('r and has no record'),
    'fault   freeze nats',
    'client  http of 00000000-0000-7000-8000-000000000001 at edge 1 requests a response of rated',
    'source  a has the request',
    'source  a failed, usage none',
    expect.stringMatching(/^client {2}refused: 500 upstream_error, text beginning, usage none, id /),
    'fault   freeze nats has ended, all edges serve',
  ]);
});

function settled(n: number): Partial<UsageRecord> {
  const charge = chargeOf('rated', tokensOf(n));
  return { outcome: 'settled', chargedNanoUsd: charge, walletNanoUsd: charge };
}

function paidFor({ call }: Forged, n: number): Forged['ledger'][number] {
  return paid(call.requestId ?? '', chargeOf('rated', tokensOf(n)));
}
