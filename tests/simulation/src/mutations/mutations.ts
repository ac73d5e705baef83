import type { RunKind } from '../scenario/run-kinds.js';

/** A change of a script or of a compiled module. */
export interface Change {
  /** End of the file's path. A script has only its file name. */
  readonly file: string;
  /** Text that occurs once in the file, and the text that replaces it. */
  readonly from: string;
  readonly to: string;
}

/** A mistake planted into the services. */
export interface Mutation {
  readonly name: string;
  /** The kind of run that is searched for it. */
  readonly kind: RunKind;
  /** Whether runs find it. The README has the reasons why the others are not found. */
  readonly isFound: boolean;
  /** Number of seeds within which it has to be found, or is not found. */
  readonly seeds: number;
  /** Changes of different files. */
  readonly changes: readonly Change[];
}

/**
 * Files and their changes, by kind of run and name. In a text of a file, `<<old -> new>>` marks the
 * changed part. Each mistake breaks one rule of docs/protocol.md#rules.
 */
type Mistakes = { readonly [Kind in RunKind]?: Readonly<Record<string, string>> };

const FOUND: Mistakes = {
  ordinary: {
    'the wallet is not checked': 'admit.lua: elseif <<available < worst -> false>> then',
    'an ended call leaves no tombstone (docs/protocol.md#r2)': 'holds.lua: if <<now < gone_at -> false>> then',
    'a heartbeat does not create lost holds (docs/protocol.md#r5)':
      'heartbeat.lua: if <<call_epochs[index] ~= heartbeat.epoch -> false>> then',
    'a release without a response is not repeated (docs/protocol.md#r4)':
      'edge-proxy/dist/heartbeats/send-heartbeats.js: const releases = <<this.#parts.admissionClient.unansweredReleases() -> []>>;',
    'an older row replaces a newer one (docs/protocol.md#r8)':
      "apply.lua: <<and newer('u:' .. name, version) -> >> then",
    'rows are dropped without a record (docs/protocol.md#r13)':
      "apply.lua: <<redis.call('HSET', account_key, 'at', int(account_now), 'lv', int(low)) -> >>",
    'a failed call is released before its record is stored':
      'finish/finish-call.js: if (<<isCharged || stored === null -> true>>)',
    'the last chunk never waits for the record (docs/protocol.md#r4)':
      'finish/finish-call.js: <<await stored?.came; -> >>',
    'billing is not queried when a hold falls due (docs/protocol.md#r9)':
      "sweep.lua: if <<is_silent or hold.state ~= 'o' -> false>> then",
    'a done hold is not queried again after a failed query (docs/protocol.md#r9)':
      'sweep.lua: <<tonumber(entries_max) -> key == due_key and tonumber(entries_max) or 0>>)',
    'the sweep of a replica that is gone counts indefinitely (docs/protocol.md#r9)':
      'due.lua: <<now < tonumber(till) and tonumber(till) <= now + others_ms -> true>>',
    'the response that closes a due hold has no month rows (docs/protocol.md#r8)':
      'admission/dist/sweep/ledger-client.js: <<names -> names: []>>, ids, afterLoss: false',
    'a recovery opens a bucket without waiting for edges (docs/protocol.md#r12)':
      'admission/dist/recover/recover-buckets.js: <<live.every((heartbeat) => hasReported(heartbeat, bucket, one.epoch)) -> true>>',
    'a recovery ignores the last heartbeats (docs/protocol.md#r12)':
      'admission/dist/recover/recover-buckets.js: for (const heartbeat of <<heartbeats -> []>>) {',
    'a record of the same rank counts again (docs/protocol.md#r7)':
      'billing/dist/usage/decide/decide-rules.js: if (before === undefined<< ->  || record.rank === before.rank>>)',
    'an expired call is never settled (docs/protocol.md#r7)':
      'billing/dist/usage/decide/decide-rules.js: if (<<record.rank > before.rank -> false>>)',
    'a snapshot closes ids without their rows (docs/protocol.md#r8)':
      'billing/dist/usage/decide/snapshot-rules.js: rows: <<written.map(toBalanceMessage) -> []>>',
    'messages are acknowledged before they are settled, and lost ones are not searched for (docs/protocol.md#r7)':
      'billing/dist/usage/process-deliveries.js: << -> for (const { ack } of deliveries) ack();>>const isSmall =',
    'an event is dropped after one failed attempt (docs/protocol.md#r4)':
      'edge-proxy/dist/journal/store-usage.js: <<this.#parts.onFailedTry(codeOf(error)) -> return>>;',
    'a cut response is charged':
      "edge-proxy/dist/pricing/charge.js: usage === null<< || ended === 'cut' || ended === 'failed' -> >>",
    'a ledger counts as complete without comparing it with the stream (docs/protocol.md#r17)':
      "billing/dist/recovery/check-ledger.js: if (<<completeness === 'complete' && lost === 0 -> true>>) {",
    'the usage of lost commits stays lost (docs/protocol.md#r17)':
      'billing/dist/recovery/check-ledger.js: const { gone, settled, isDone } = <<await settleMissing(deps, ledger, state) -> { gone: [], settled: 0, isDone: true }>>;',
    'a promoted ledger keeps its epoch (docs/protocol.md#r17)':
      'billing/dist/recovery/check-ledger.js: <<await store.beginEpochAfter(ledger.ledgerEpoch, seen) -> ledger.ledgerEpoch>>',
    'a promoted ledger is used before it is compared (docs/protocol.md#r17)':
      'billing/dist/recovery/ledger-guard.js: if (<<database === this.#checked -> true>>)',
  },
  windows: {
    'a window near its end lets calls begin together': 'admit.lua: local is_near = <<window.usd -> false>> and',
  },
  poor: {
    'room is counted only in slots (docs/protocol.md#r4)': 'admit.lua: if <<wallet_hold > 0 -> false>> then',
    'a snapshot does not wait for an older one that it has passed (docs/protocol.md#r8)':
      'apply.lua: if <<may_wait -> false>> and',
    'a snapshot ends no hold (docs/protocol.md#r8)':
      'billing/dist/usage/decide/snapshot-rules.js: closed: <<part.closed -> []>> }',
    'a hold counts for good next to its charge (docs/protocol.md#r8)':
      "apply.lua: if <<hold.state ~= 'g' -> false>> then",
  },
  silence: {
    'a call named only by a short heartbeat counts as silent (docs/protocol.md#r5)':
      'admission/dist/heartbeats/last-heartbeats-rules.js: return <<[...listed, ...named] -> listed>>;',
    'the time without a sweep counts as silence (docs/protocol.md#r9)': 'due.lua: if <<listens_since == 0 -> true>> or',
    'silence counts while the bus is away (docs/protocol.md#r9)':
      'admission/dist/sweep/sweep-buckets.js: listens: <<edges.listens() -> true>>',
    'calls that a stored heartbeat names expire (docs/protocol.md#r9)':
      'admission/dist/sweep/ledger-client.js: <<edge === null -> true>> ||',
  },
  gone: {
    'a recovery reads only full heartbeats (docs/protocol.md#r12)':
      'admission/dist/heartbeats/last-heartbeats-rules.js: <<short.n > full.n ? [full, short] :  -> >>[short, full]',
    'an edge names calls that it has not listed (docs/protocol.md#r5)':
      'edge-proxy/dist/heartbeats/send-heartbeats.js: <<(call) => listing.calls.has(call) -> () => true>>',
    'calls of a gone edge are held again (docs/protocol.md#r12)':
      'admission/dist/recover/recover-buckets.js: <<!isGone(heartbeat, now, durations.expiryMs) -> true>>',
    'a gone edge is forgotten before the ledger has its calls (docs/protocol.md#r12)':
      'admission/dist/recover/forget-gone-edges.js: unknown <<+= await this.#expire(account, calls, dueMs) -> = 0>>;',
  },
  late: {
    'rows of a late snapshot survive the load after a loss': "apply.lua: if <<versions['t'] ~= suffix -> false>> then",
  },
  promoted: {
    'a late message of an earlier ledger epoch counts (docs/protocol.md#r17)':
      "apply.lua: if <<ledger_epoch ~= '' and ledger_epoch < (versions['in'] or '') -> false>> then",
    'a promoted ledger sends changes before it is compared (docs/protocol.md#r17)':
      'billing/dist/ledger/tell-change.js: if (<<!isLedger(state.database) -> false>>)',
  },
  alone: {
    'the last chunk never waits for the release (docs/protocol.md#r4)':
      'finish/finish-call.js: !isCharged<< || parts.admissionClient.mayMeetOwnHold(held.hold.account, roomLeft) -> >>',
  },
  together: {
    'ended calls are not counted when room is short (docs/protocol.md#r4)':
      'edge-proxy/dist/admission/account-room.js: <<known.held + asking <= Math -> asking < Math>>.min(known.left, own)',
  },
  failover: {
    'a superseded limit store is used (docs/protocol.md#r12)':
      'admission/dist/limit-store/epoch-rules.js: return <<own.setAt > 0 -> false>> &&',
    'a superseded limit store is used again while another one is in use (docs/protocol.md#r12)':
      'admission/dist/limit-store/epoch-rules.js: <<run.id !== own.id && isLater(own, run) -> false>>',
    'a superseded limit store is never used again, even if no other is in use (docs/protocol.md#r12)':
      'admission/dist/limit-store/run-agreement-rules.js: <<now - this.#since >= UNUSED_MS -> false>>',
    'a superseded limit store is used again while other replicas cannot be queried (docs/protocol.md#r12)':
      'admission/dist/limit-store/run-agreement-rules.js: <<!isReachable ||  -> >>',
    'epochs of a superseded limit store stay when it is used again (docs/protocol.md#r12)':
      'replace.lua: if <<set_at -> set_at > 0 or set_at>> >= tonumber(',
    'the next epoch of an emptied limit store is earlier by its clock and stays invalid (docs/protocol.md#r3)':
      'edge-proxy/dist/admission/epoch-tracker.js: !isAfter<< && askedAt <= known.heardAt -> >>',
  },
  kept: {
    'an account is confirmed without comparing its balances (docs/protocol.md#r12)':
      "admission/dist/revalidate/confirm-script.js: <<fields.filter(([field]) => field.startsWith('u:')) -> []>>",
    'a key that was revoked or rotated in the meantime is confirmed (docs/protocol.md#r12)':
      "admission/dist/limit-store/stored-records-rules.js: <<records.keys.push({ id, version: Number(text.split(' ')[1]) }) -> >>;",
    'billing confirms before it has caught up (docs/protocol.md#r12)':
      'billing/dist/accounts/find-unchanged.js: <<(await waitForStream(deps, askedAt)) === null -> false>>',
  },
  outage: {
    'messages are acknowledged before all their shards are settled, and lost ones are not searched for (docs/protocol.md#r7)':
      'billing/dist/usage/process-deliveries.js: <<(await Promise.all(parts)).every(Boolean) -> true>>',
  },
};

/** Another rule compensates for these, or scenarios rarely meet them. */
const NOT_FOUND: Mistakes = {
  ordinary: {
    'a named call gets an epoch without a hold (docs/protocol.md#r5)':
      'admission/dist/heartbeats/extend-holds.js: <<known.length < lost.length -> false>>',
    'the release of a lost call creates nothing (docs/protocol.md#r6)':
      "release.lua: if <<outcome == 'ok' and call_epoch ~= epoch -> false>> then",
    'a load is written at any time and under any epoch (docs/protocol.md#r11)':
      'apply.lua: if <<loading and (load_epoch ~= epoch or now - tonumber(load_start) > LOAD_MS) -> false>> then',
    'a correction is sent only once, like a snapshot (docs/protocol.md#r8)':
      'usage/decide/snapshot-rules.js: if (<<corrected.size === 0 -> true>>)',
    'due calls expire although billing is behind (docs/protocol.md#r9)':
      'admission/dist/sweep/ledger-client.js: <<caughtUpTo > hold.due - shiftMs -> true>>',
    'a load after a loss does not wait for the stream (docs/protocol.md#r11)':
      'billing/dist/accounts/load-account.js: caughtUpTo = <<request.afterLoss -> false>>',
    'responses under a superseded epoch count (docs/protocol.md#r3)':
      'edge-proxy/dist/admission/epoch-tracker.js: if (<<!isAfter && askedAt <= known.heardAt -> false>>)',
    'an admission without a response is not released (docs/protocol.md#r3)':
      'edge-proxy/dist/admission/admission-client.js: if (<<mayHold -> false>>)',
  },
  failover: {
    'responses of an earlier run count (docs/protocol.md#r12)':
      'edge-proxy/dist/admission/epoch-tracker.js: <<if (run.id !== this.#run?.id)\n            return false; -> >>',
  },
};

/** Mistakes that need a rare order of events, by name without the rule, with their seeds. */
const RARE: Readonly<Record<string, number>> = {
  'an ended call leaves no tombstone': 2_000,
  'a recovery ignores the last heartbeats': 1_000,
};
const SEEDS = 500;

/** Without this, the ledger guard settles acknowledged events again that are missing. */
const LOST_ONES_STAY = "billing/dist/recovery/check-ledger.js: completeness === 'complete'<< && lost === 0 -> >>";

function listMutations(mistakes: Mistakes, isFound: boolean): Mutation[] {
  return Object.entries(mistakes).flatMap(([kind, changes]) =>
    Object.entries(changes).map(([name, text]) => {
      const texts = name.includes('lost ones are not searched for') ? [text, LOST_ONES_STAY] : [text];
      const seeds = RARE[name.replace(/ \(docs\/.*/, '')] ?? SEEDS;
      return { name, kind: kind as RunKind, isFound, seeds, changes: texts.map(parseChange) };
    }),
  );
}

function parseChange(text: string): Change {
  const parts = /^(.*?): (.*)<<(.*) -> (.*)>>(.*)$/s.exec(text)?.slice(1) ?? [];
  const [file = '', before = '', from = '', to = '', after = ''] = parts;
  return { file, from: before + from + after, to: before + to + after };
}

export const MUTATIONS: readonly Mutation[] = [...listMutations(FOUND, true), ...listMutations(NOT_FOUND, false)];
