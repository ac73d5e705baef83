import type { RunKind } from '../scenario/run-kinds.js';

interface Options {
  /** The kind of run that is searched for it, if ordinary runs do not find it. */
  readonly kind?: RunKind;
  /** Number of seeds within which it has to be found, if not 500. */
  readonly seedsMax?: number;
  /** A second change, of the code that would compensate for the mistake. */
  readonly also?: Change;
  /** Why it is not found: another rule compensates, or scenarios rarely meet it. */
  readonly unseen?: string;
}

/** A change of a script or of a compiled module. */
export interface Change {
  /** End of the file's path. A script has only its file name. */
  readonly file: string;
  /** Text that occurs once in the file. In it, `<<old -> new>>` marks the changed part. */
  readonly change: string;
}

/** A mistake planted into the services. */
export type Mutation = Change & Options & { readonly name: string };

/** Without this, the ledger guard settles acknowledged events again that are missing. */
const LOST_ONES_STAY: Change = {
  file: 'billing/dist/recovery/check-ledger.js',
  change: "completeness === 'complete'<< && lost === 0 -> >>",
};

/** By file and name. Each breaks one rule of docs/protocol.md#rules. */
const PLANTED: Readonly<Record<string, Readonly<Record<string, string | readonly [string, Options]>>>> = {
  'admit.lua': {
    'the wallet is not checked': 'elseif <<available < worst -> false>> then',
    'a window near its end lets calls begin together': [
      'local is_near = <<window.usd -> false>> and',
      { kind: 'windows' },
    ],
    'room is counted only in slots (docs/protocol.md#r4)': ['if <<wallet_hold > 0 -> false>> then', { kind: 'poor' }],
  },
  'holds.lua': {
    'an ended call leaves no tombstone (docs/protocol.md#r2)': [
      'if <<now < gone_at -> false>> then',
      { seedsMax: 2_000 },
    ],
  },
  'heartbeat.lua': {
    'a heartbeat does not create lost holds (docs/protocol.md#r5)':
      'if <<call_epochs[index] ~= heartbeat.epoch -> false>> then',
  },
  'admission/dist/heartbeats/last-heartbeats-rules.js': {
    'a call named only by a short heartbeat counts as silent (docs/protocol.md#r5)': [
      'return <<[...listed, ...named] -> listed>>;',
      { kind: 'silence' },
    ],
    'a recovery reads only full heartbeats (docs/protocol.md#r12)': [
      '<<short.n > full.n ? [full, short] :  -> >>[short, full]',
      { kind: 'gone' },
    ],
  },
  'admission/dist/heartbeats/extend-holds.js': {
    'a named call gets an epoch without a hold (docs/protocol.md#r5)': [
      '<<known.length < lost.length -> false>>',
      { unseen: 'a recovery has created the holds that full heartbeats list (docs/protocol.md#r12)' },
    ],
  },
  'edge-proxy/dist/heartbeats/send-heartbeats.js': {
    'an edge names calls that it has not listed (docs/protocol.md#r5)': [
      '<<(call) => listing.calls.has(call) -> () => true>>',
      { kind: 'gone' },
    ],
    'a release without a response is not repeated (docs/protocol.md#r4)':
      'const releases = <<this.#parts.admissionClient.unansweredReleases() -> []>>;',
  },
  'release.lua': {
    'the release of a lost call creates nothing (docs/protocol.md#r6)': [
      "if <<outcome == 'ok' and call_epoch ~= epoch -> false>> then",
      { unseen: 'the missing hold is settled a moment later' },
    ],
  },
  'apply.lua': {
    'an older row replaces a newer one (docs/protocol.md#r8)': "<<and newer('u:' .. name, version) -> >> then",
    'a load is written at any time and under any epoch (docs/protocol.md#r11)': [
      'if <<loading and (load_epoch ~= epoch or now - tonumber(load_start) > LOAD_MS) -> false>> then',
      { unseen: 'rows have versions: an older row replaces nothing (docs/protocol.md#r8)' },
    ],
    'rows of a late snapshot survive the load after a loss': [
      "if <<versions['t'] ~= suffix -> false>> then",
      { kind: 'late', seedsMax: 2_000 },
    ],
    'rows are dropped without a record (docs/protocol.md#r13)':
      "<<redis.call('HSET', account_key, 'at', int(account_now), 'lv', int(low)) -> >>",
    'a late message of an earlier ledger epoch counts (docs/protocol.md#r17)': [
      "if <<ledger_epoch ~= '' and ledger_epoch < (versions['in'] or '') -> false>> then",
      { kind: 'promoted', seedsMax: 2_000 },
    ],
  },
  'usage/decide/snapshot-rules.js': {
    'a correction is sent only once, like a snapshot (docs/protocol.md#r8)': [
      'if (<<corrected.size === 0 -> true>>)',
      { unseen: 'found at seed 26,249 of a long run' },
    ],
  },
  'finish/finish-call.js': {
    'a failed call is released before its record is stored': 'if (<<isCharged || stored === null -> true>>)',
    'the last chunk never waits for the release (docs/protocol.md#r4)': [
      '!isCharged<< || parts.admissionClient.mayMeetOwnHold(held.hold.account, roomLeft) -> >>',
      { kind: 'alone' },
    ],
    'the last chunk never waits for the record (docs/protocol.md#r4)': '<<await stored?.came; -> >>',
  },
  'edge-proxy/dist/admission/account-room.js': {
    'ended calls are not counted when room is short (docs/protocol.md#r4)': [
      '<<known.held + asking <= Math -> asking < Math>>.min(known.left, own)',
      { kind: 'together' },
    ],
  },
  'sweep.lua': {
    'billing is not queried when a hold falls due (docs/protocol.md#r9)':
      "if <<is_silent or hold.state ~= 'o' -> false>> then",
    'a done hold is not queried again after a failed query (docs/protocol.md#r9)':
      '<<tonumber(entries_max) -> key == due_key and tonumber(entries_max) or 0>>)',
  },
  'due.lua': {
    'the sweep of a replica that is gone counts indefinitely (docs/protocol.md#r9)':
      '<<now < tonumber(till) and tonumber(till) <= now + others_ms -> true>>',
    'the time without a sweep counts as silence (docs/protocol.md#r9)': [
      'if <<listens_since == 0 -> true>> or',
      { kind: 'silence' },
    ],
  },
  'admission/dist/sweep/sweep-buckets.js': {
    'silence counts while the bus is away (docs/protocol.md#r9)': [
      'listens: <<edges.listens() -> true>>',
      { kind: 'silence' },
    ],
  },
  'admission/dist/sweep/ask-ledger.js': {
    'calls that a stored heartbeat names expire (docs/protocol.md#r9)': [
      '<<edge === null -> true>> ||',
      { kind: 'silence' },
    ],
    'the response that closes a due hold has no month rows (docs/protocol.md#r8)':
      '<<names -> names: []>>, ids, afterLoss: false',
    'due calls expire although billing is behind (docs/protocol.md#r9)': [
      '<<caughtUpTo > hold.due - shiftMs -> true>>',
      { unseen: 'a late event is settled (docs/protocol.md#r7)' },
    ],
  },
  'admission/dist/limit-store/epoch-rules.js': {
    'a superseded limit store is used (docs/protocol.md#r12)': [
      'return <<own.setAt > 0 -> false>> &&',
      { kind: 'failover' },
    ],
    'a superseded limit store is used again while another one is in use (docs/protocol.md#r12)': [
      '<<run.id !== own.id && isLater(own, run) -> false>>',
      { kind: 'failover' },
    ],
  },
  'admission/dist/limit-store/run-agreement-rules.js': {
    'a superseded limit store is never used again, even if no other is in use (docs/protocol.md#r12)': [
      '<<now - this.#since >= UNUSED_MS -> false>>',
      { kind: 'failover' },
    ],
    'a superseded limit store is used again while other replicas cannot be queried (docs/protocol.md#r12)': [
      '<<!isReachable ||  -> >>',
      { kind: 'failover' },
    ],
  },
  'replace.lua': {
    'epochs of a superseded limit store stay when it is used again (docs/protocol.md#r12)': [
      'if <<set_at -> set_at > 0 or set_at>> >= tonumber(',
      { kind: 'failover' },
    ],
  },
  'admission/dist/recover/recover-buckets.js': {
    'a recovery opens a bucket without waiting for edges (docs/protocol.md#r12)':
      '<<live.every((heartbeat) => hasReported(heartbeat, bucket, one.epoch)) -> true>>',
    'a recovery ignores the last heartbeats (docs/protocol.md#r12)': [
      'for (const heartbeat of <<heartbeats -> []>>) {',
      { seedsMax: 1_000 },
    ],
    'calls of a gone edge are held again (docs/protocol.md#r12)': [
      '<<!isGone(heartbeat, now, durations.expiryMs) -> true>>',
      { kind: 'gone' },
    ],
  },
  'admission/dist/recover/forget-gone-edges.js': {
    'a gone edge is forgotten before the ledger has its calls (docs/protocol.md#r12)': [
      'unknown <<+= await this.#expire(account, calls, dueMs) -> = 0>>;',
      { kind: 'gone' },
    ],
  },
  'admission/dist/revalidate/confirm-script.js': {
    'an account is confirmed without comparing its balances (docs/protocol.md#r12)': [
      "<<fields.filter(([field]) => field.startsWith('u:')) -> []>>",
      { kind: 'kept' },
    ],
  },
  'admission/dist/limit-store/stored-records-rules.js': {
    'a key that was revoked or rotated in the meantime is confirmed (docs/protocol.md#r12)': [
      "<<records.keys.push({ id, version: Number(text.split(' ')[1]) }) -> >>;",
      { kind: 'kept' },
    ],
  },
  'billing/dist/accounts/find-unchanged.js': {
    'billing confirms before it has caught up (docs/protocol.md#r12)': [
      '<<(await waitForStream(deps, askedAt)) === null -> false>>',
      { kind: 'kept' },
    ],
  },
  'billing/dist/accounts/load-account.js': {
    'a load after a loss does not wait for the stream (docs/protocol.md#r11)': [
      'caughtUpTo = <<request.afterLoss -> false>>',
      { unseen: 'the next snapshot has the missed balances (docs/protocol.md#r8)' },
    ],
  },
  'billing/dist/usage/decide/decide-rules.js': {
    'a record of the same rank counts again (docs/protocol.md#r7)':
      'if (before === undefined<< ->  || record.rank === before.rank>>)',
    'an expired call is never settled (docs/protocol.md#r7)': 'if (<<record.rank > before.rank -> false>>)',
  },
  'billing/dist/usage/decide/snapshot-rules.js': {
    'a snapshot closes ids without their rows (docs/protocol.md#r8)': 'rows: <<written.map(toBalanceMessage) -> []>>',
  },
  'billing/dist/usage/process-deliveries.js': {
    'messages are acknowledged before they are settled, and lost ones are not searched for (docs/protocol.md#r7)': [
      '<< -> for (const { ack } of deliveries) ack();>>const isSmall =',
      { also: LOST_ONES_STAY },
    ],
    'messages are acknowledged before all their shards are settled, and lost ones are not searched for (docs/protocol.md#r7)':
      ['<<(await Promise.all(parts)).every(Boolean) -> true>>', { kind: 'outage', also: LOST_ONES_STAY }],
  },
  'edge-proxy/dist/admission/epoch-tracker.js': {
    'responses under a superseded epoch count (docs/protocol.md#r3)': [
      'if (<<!isAfter && askedAt <= known.heardAt -> false>>)',
      { unseen: 'the next heartbeat holds the call again (docs/protocol.md#r5)' },
    ],
    'responses of an earlier run count (docs/protocol.md#r12)': [
      '<<if (run.id !== this.#run?.id)\n            return false; -> >>',
      { kind: 'failover', unseen: 'the next heartbeat holds the call again (docs/protocol.md#r5)' },
    ],
    'the next epoch of an emptied limit store is earlier by its clock and stays invalid (docs/protocol.md#r3)': [
      '!isAfter<< && askedAt <= known.heardAt -> >>',
      { kind: 'failover' },
    ],
  },
  'edge-proxy/dist/journal/store-usage.js': {
    'an event is dropped after one failed attempt (docs/protocol.md#r4)':
      '<<this.#parts.onFailedTry(codeOf(error)) -> return>>;',
  },
  'edge-proxy/dist/pricing/charge.js': {
    'a cut response is charged': "usage === null<< || ended === 'cut' || ended === 'failed' -> >>",
  },
  'edge-proxy/dist/admission/admission-client.js': {
    'an admission without a response is not released (docs/protocol.md#r3)': [
      'if (<<mayHold -> false>>)',
      { unseen: 'its hold falls due and expires (docs/protocol.md#r9)' },
    ],
  },
  'billing/dist/recovery/check-ledger.js': {
    'a ledger counts as complete without comparing it with the stream (docs/protocol.md#r17)':
      "if (<<completeness === 'complete' && lost === 0 -> true>>) {",
    'the usage of lost commits stays lost (docs/protocol.md#r17)':
      'const { gone, settled, isDone } = <<await settleMissing(deps, ledger, state) -> { gone: [], settled: 0, isDone: true }>>;',
    'a promoted ledger keeps its epoch (docs/protocol.md#r17)': [
      '<<await store.beginEpochAfter(ledger.ledgerEpoch, seen) -> ledger.ledgerEpoch>>',
      { seedsMax: 1_000 },
    ],
  },
  'billing/dist/ledger/tell-change.js': {
    'a promoted ledger sends changes before it is compared (docs/protocol.md#r17)': [
      'if (<<!isLedger(state.database) -> false>>)',
      { kind: 'promoted' },
    ],
  },
  'billing/dist/recovery/ledger-guard.js': {
    'a promoted ledger is used before it is compared (docs/protocol.md#r17)': [
      'if (<<database === this.#checked -> true>>)',
      { seedsMax: 2_000 },
    ],
  },
};

export const MUTATIONS: readonly Mutation[] = Object.entries(PLANTED).flatMap(([file, mistakes]) =>
  Object.entries(mistakes).map(([name, planted]) => {
    const [change, options] = typeof planted === 'string' ? [planted, {}] : planted;
    return { name, file, change, ...options };
  }),
);
