import type { SeriesKind } from '../scenario/make-series.js';

/** Kind of run that is searched for a mistake if ordinary runs do not find it. */
export type RunKind =
  SeriesKind | 'gone' | 'silence' | 'failover' | 'kept' | 'windows' | 'promoted' | 'outage' | 'late';

export interface Replacement {
  /** End of the file's path. A script has only its file name. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A mistake planted into the services: a text of a script or of a compiled module is replaced. */
export interface Mutation extends Replacement {
  readonly name: string;
  /** A second replacement, of the code that would compensate for the mistake. */
  readonly also?: Replacement;
  /** The kind of run that is searched for it. */
  readonly stage?: RunKind;
  /** Number of seeds within which it has to be found, if not {@link SEEDS_MAX}. */
  readonly seedsMax?: number;
  /** Why it is not found: another rule compensates, or scenarios rarely meet it. */
  readonly unseen?: string;
}

export const SEEDS_MAX = 500;

/** Without this, the ledger guard settles acknowledged events again that are missing. */
const LOST_ONES_STAY: Replacement = {
  file: 'billing/dist/recovery/check-ledger.js',
  from: "wholeness === 'whole' && lost === 0",
  to: "wholeness === 'whole'",
};

/** Each mutation breaks one rule of docs/protocol.md#rules. */
export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'the wallet is not checked',
    file: 'admit.lua',
    from: 'elseif available < worst then',
    to: 'elseif false then',
  },
  {
    name: 'a window near its end lets calls begin together',
    file: 'admit.lua',
    from: 'local is_near = window.usd and',
    to: 'local is_near = false and',
    stage: 'windows',
  },
  {
    name: 'an ended call leaves no tombstone (docs/protocol.md#r2)',
    file: 'holds.lua',
    from: 'if now < gone_at then',
    to: 'if false then',
    seedsMax: 2_000,
  },
  {
    name: 'a heartbeat does not create lost holds (docs/protocol.md#r5)',
    file: 'heartbeat.lua',
    from: 'if call_epochs[index] ~= heartbeat.token then',
    to: 'if false then',
  },
  {
    name: 'a call named only by a short heartbeat counts as silent (docs/protocol.md#r5)',
    file: 'admission/dist/heartbeats/last-heartbeats-rules.js',
    from: 'return [...listed, ...named];',
    to: 'return listed;',
    stage: 'silence',
  },
  {
    name: 'a named call gets an epoch without a hold (docs/protocol.md#r5)',
    file: 'admission/dist/heartbeats/hold-calls.js',
    from: 'known.length < lost.length',
    to: 'false',
    unseen: 'a recovery has created the holds that full heartbeats list (docs/protocol.md#r12)',
  },
  {
    name: 'an edge names calls that it has not listed (docs/protocol.md#r5)',
    file: 'edge-proxy/dist/heartbeats/send-heartbeats.js',
    from: '(call) => listing.calls.has(call)',
    to: '() => true',
    stage: 'gone',
  },
  {
    name: 'a recovery reads only full heartbeats (docs/protocol.md#r12)',
    file: 'admission/dist/heartbeats/last-heartbeats-rules.js',
    from: 'short.n > full.n ? [full, short] : [short, full]',
    to: '[short, full]',
    stage: 'gone',
  },
  {
    name: 'the release of a lost call creates nothing (docs/protocol.md#r6)',
    file: 'release.lua',
    from: "if outcome == 'ok' and call_epoch ~= token then",
    to: 'if false then',
    unseen: 'the missing hold is settled a moment later',
  },
  {
    name: 'an older row replaces a newer one (docs/protocol.md#r8)',
    file: 'apply.lua',
    from: "and newer('u:' .. name, version) then",
    to: 'then',
  },
  {
    name: 'a load is written at any time and under any epoch (docs/protocol.md#r11)',
    file: 'apply.lua',
    from: 'if loading and (load_token ~= token or now - tonumber(load_start) > LOAD_MS) then',
    to: 'if false then',
    unseen: 'rows have versions: an older row replaces nothing (docs/protocol.md#r8)',
  },
  {
    name: 'rows of a late snapshot survive the load after a loss',
    file: 'apply.lua',
    from: "if versions['t'] ~= mark then",
    to: 'if false then',
    stage: 'late',
    seedsMax: 2_000,
  },
  {
    name: 'rows are dropped without a record (docs/protocol.md#r13)',
    file: 'apply.lua',
    from: "redis.call('HSET', account_key, 'at', int(account_now), 'lv', int(low))",
    to: '',
  },
  {
    name: 'a correction is sent only once, like a snapshot (docs/protocol.md#r8)',
    file: 'usage/decide/snapshot-rules.js',
    from: 'if (corrected.size === 0)',
    to: 'if (true)',
    unseen: 'found at seed 26,249 of a long run',
  },
  {
    name: 'a failed call is released before its record is stored',
    file: 'finish/finish-call.js',
    from: 'if (isCharged || stored === null)',
    to: 'if (true)',
  },
  {
    name: 'the last chunk never waits for the release (docs/protocol.md#r4)',
    file: 'finish/finish-call.js',
    from: '!isCharged || parts.admissionClient.mayMeetOwnHold(held.hold.account, roomLeft)',
    to: '!isCharged',
    stage: 'alone',
  },
  {
    name: 'ended calls are not counted when room is short (docs/protocol.md#r4)',
    file: 'edge-proxy/dist/admission/account-room.js',
    from: 'known.held + asking <= Math.min(known.left, own)',
    to: 'asking < Math.min(known.left, own)',
    stage: 'together',
  },
  {
    name: 'the last chunk never waits for the record (docs/protocol.md#r4)',
    file: 'finish/finish-call.js',
    from: 'await stored?.came;',
    to: '',
  },
  {
    name: 'room is counted only in slots (docs/protocol.md#r4)',
    file: 'admit.lua',
    from: 'if wallet_hold > 0 then',
    to: 'if false then',
    stage: 'poor',
  },
  {
    name: 'billing is not queried when a hold falls due (docs/protocol.md#r9)',
    file: 'sweep.lua',
    from: "if is_silent or hold.state ~= 'o' then",
    to: 'if false then',
  },
  {
    name: 'a done hold is not queried again after a failed query (docs/protocol.md#r9)',
    file: 'sweep.lua',
    from: 'tonumber(entries_max))',
    to: 'key == due_key and tonumber(entries_max) or 0)',
  },
  {
    name: 'the sweep of a replica that is gone counts indefinitely (docs/protocol.md#r9)',
    file: 'due.lua',
    from: 'now < tonumber(till) and tonumber(till) <= now + others_ms',
    to: 'true',
  },
  {
    name: 'the time without a sweep counts as silence (docs/protocol.md#r9)',
    file: 'due.lua',
    from: 'if listens_since == 0 or',
    to: 'if true or',
    stage: 'silence',
  },
  {
    name: 'silence counts while the bus is away (docs/protocol.md#r9)',
    file: 'admission/dist/sweep/sweep-buckets.js',
    from: 'listens: edges.listens()',
    to: 'listens: true',
    stage: 'silence',
  },
  {
    name: 'calls that a stored heartbeat names expire (docs/protocol.md#r9)',
    file: 'admission/dist/sweep/ask-ledger.js',
    from: 'edge === null ||',
    to: 'true ||',
    stage: 'silence',
  },
  {
    name: 'a superseded limit store is used (docs/protocol.md#r12)',
    file: 'admission/dist/limit-store/epoch-rules.js',
    from: 'return own.setAt > 0 &&',
    to: 'return false &&',
    stage: 'failover',
  },
  {
    name: 'a superseded limit store is never used again, even if no other is in use (docs/protocol.md#r12)',
    file: 'admission/dist/limit-store/run-agreement-rules.js',
    from: 'now - this.#since >= UNUSED_MS',
    to: 'false',
    stage: 'failover',
  },
  {
    name: 'a superseded limit store is used again while another one is in use (docs/protocol.md#r12)',
    file: 'admission/dist/limit-store/epoch-rules.js',
    from: 'run.id !== own.id && isLater(own, run)',
    to: 'false',
    stage: 'failover',
  },
  {
    name: 'a superseded limit store is used again while other replicas cannot be queried (docs/protocol.md#r12)',
    file: 'admission/dist/limit-store/run-agreement-rules.js',
    from: '!isHeard || ',
    to: '',
    stage: 'failover',
  },
  {
    name: 'epochs of a superseded limit store stay when it is used again (docs/protocol.md#r12)',
    file: 'replace.lua',
    from: 'if set_at >= tonumber(',
    to: 'if set_at > 0 or set_at >= tonumber(',
    stage: 'failover',
  },
  {
    name: 'the response that closes a due hold has no month rows (docs/protocol.md#r8)',
    file: 'admission/dist/sweep/ask-ledger.js',
    from: 'names, ids, afterLoss: false',
    to: 'names: [], ids, afterLoss: false',
  },
  {
    name: 'due calls expire although billing is behind (docs/protocol.md#r9)',
    file: 'admission/dist/sweep/ask-ledger.js',
    from: 'caughtUpTo > hold.due - shiftMs',
    to: 'true',
    unseen: 'a late event is settled (docs/protocol.md#r7)',
  },
  {
    name: 'a recovery opens a bucket without waiting for edges (docs/protocol.md#r12)',
    file: 'admission/dist/recover/recover-buckets.js',
    from: 'live.every((heartbeat) => hasReported(heartbeat, bucket, one.token))',
    to: 'true',
  },
  {
    name: 'a recovery ignores the last heartbeats (docs/protocol.md#r12)',
    file: 'admission/dist/recover/recover-buckets.js',
    from: 'for (const heartbeat of heartbeats) {',
    to: 'for (const heartbeat of []) {',
    seedsMax: 1_000,
  },
  {
    name: 'calls of a gone edge are held again (docs/protocol.md#r12)',
    file: 'admission/dist/recover/recover-buckets.js',
    from: '!isGone(heartbeat, now, durations.expiryMs)',
    to: 'true',
    stage: 'gone',
  },
  {
    name: 'a gone edge is forgotten before the ledger has its calls (docs/protocol.md#r12)',
    file: 'admission/dist/recover/forget-gone-edges.js',
    from: 'unknown += await this.#expire(account, calls, dueMs);',
    to: 'unknown = 0;',
    stage: 'gone',
  },
  {
    name: 'an account is confirmed without comparing its balances (docs/protocol.md#r12)',
    file: 'admission/dist/revalidate/confirm-script.js',
    from: "fields.filter(([field]) => field.startsWith('u:'))",
    to: '[]',
    stage: 'kept',
  },
  {
    name: 'a key that was revoked or rotated in the meantime is confirmed (docs/protocol.md#r12)',
    file: 'admission/dist/limit-store/stored-records-rules.js',
    from: "records.keys.push({ id, version: Number(text.split(' ')[1]) });",
    to: ';',
    stage: 'kept',
  },
  {
    name: 'billing confirms before it has caught up (docs/protocol.md#r12)',
    file: 'billing/dist/accounts/find-unchanged.js',
    from: '(await waitForStream(deps, askedAt)) === null',
    to: 'false',
    stage: 'kept',
  },
  {
    name: 'a load after a loss does not wait for the stream (docs/protocol.md#r11)',
    file: 'billing/dist/accounts/load-account.js',
    from: 'caughtUpTo = request.afterLoss',
    to: 'caughtUpTo = false',
    unseen: 'the next snapshot has the missed balances (docs/protocol.md#r8)',
  },
  {
    name: 'a record of the same rank counts again (docs/protocol.md#r7)',
    file: 'billing/dist/usage/decide/decide-rules.js',
    from: 'if (before === undefined)',
    to: 'if (before === undefined || record.rank === before.rank)',
  },
  {
    name: 'an expired call is never settled (docs/protocol.md#r7)',
    file: 'billing/dist/usage/decide/decide-rules.js',
    from: 'if (record.rank > before.rank)',
    to: 'if (false)',
  },
  {
    name: 'a snapshot closes ids without their rows (docs/protocol.md#r8)',
    file: 'billing/dist/usage/decide/snapshot-rules.js',
    from: 'rows: written.map(toBalanceMessage)',
    to: 'rows: []',
  },
  {
    name: 'messages are acknowledged before they are settled, and lost ones are not searched for (docs/protocol.md#r7)',
    file: 'billing/dist/usage/process-deliveries.js',
    from: 'const isSmall =',
    to: 'for (const { ack } of deliveries) ack();\n    const isSmall =',
    also: LOST_ONES_STAY,
  },
  {
    name: 'messages are acknowledged before all their shards are settled, and lost ones are not searched for (docs/protocol.md#r7)',
    file: 'billing/dist/usage/process-deliveries.js',
    from: '(await Promise.all(parts)).every(Boolean)',
    to: 'true',
    also: LOST_ONES_STAY,
    stage: 'outage',
  },
  {
    name: 'responses under a superseded epoch count (docs/protocol.md#r3)',
    file: 'edge-proxy/dist/admission/epoch-tracker.js',
    from: 'if (!isAfter && askedAt <= known.heardAt)',
    to: 'if (false)',
    unseen: 'the next heartbeat holds the call again (docs/protocol.md#r5)',
  },
  {
    name: 'responses of an earlier run count (docs/protocol.md#r12)',
    file: 'edge-proxy/dist/admission/epoch-tracker.js',
    from: 'if (run.id !== this.#run?.id)\n            return false;',
    to: '',
    stage: 'failover',
    unseen: 'the next heartbeat holds the call again (docs/protocol.md#r5)',
  },
  {
    name: 'an event is dropped after one failed attempt (docs/protocol.md#r4)',
    file: 'edge-proxy/dist/journal/store-usage.js',
    from: 'this.#parts.onFailedTry(codeOf(error));',
    to: 'return;',
  },
  {
    name: 'a cut response is charged',
    file: 'edge-proxy/dist/pricing/charge.js',
    from: "usage === null || ended === 'cut' || ended === 'failed'",
    to: 'usage === null',
  },
  {
    name: 'an admission without a response is not released (docs/protocol.md#r3)',
    file: 'edge-proxy/dist/admission/admission-client.js',
    from: 'if (mayHold)',
    to: 'if (false)',
    unseen: 'its hold falls due and expires (docs/protocol.md#r9)',
  },
  {
    name: 'a release without a response is not repeated (docs/protocol.md#r4)',
    file: 'edge-proxy/dist/heartbeats/send-heartbeats.js',
    from: 'const releases = this.#parts.admissionClient.unansweredReleases();',
    to: 'const releases = [];',
  },
  {
    name: 'a ledger counts as complete without comparing it with the stream (docs/protocol.md#r17)',
    file: 'billing/dist/recovery/check-ledger.js',
    from: "if (wholeness === 'whole' && lost === 0) {",
    to: 'if (true) {',
  },
  {
    name: 'the usage of lost commits stays lost (docs/protocol.md#r17)',
    file: 'billing/dist/recovery/check-ledger.js',
    from: 'const { gone, settled, isDone } = await settleMissing(deps, look, state);',
    to: 'const { gone, settled, isDone } = { gone: [], settled: 0, isDone: true };',
  },
  {
    name: 'a promoted ledger keeps its epoch (docs/protocol.md#r17)',
    file: 'billing/dist/recovery/check-ledger.js',
    from: 'await store.beginEpochAfter(look.ledgerEpoch, kept?.ledgerEpoch ?? look.ledgerEpoch)',
    to: 'look.ledgerEpoch',
    seedsMax: 1_000,
  },
  {
    name: 'a late message of an earlier ledger epoch counts (docs/protocol.md#r17)',
    file: 'apply.lua',
    from: "if ledger_epoch ~= '' and ledger_epoch < (versions['in'] or '') then",
    to: 'if false then',
    stage: 'promoted',
    seedsMax: 2_000,
  },
  {
    name: 'the next epoch of an emptied limit store is earlier by its clock and stays invalid (docs/protocol.md#r3)',
    file: 'edge-proxy/dist/admission/epoch-tracker.js',
    from: '!isAfter && askedAt <= known.heardAt',
    to: '!isAfter',
    stage: 'failover',
  },
  {
    name: 'a promoted ledger sends changes before it is compared (docs/protocol.md#r17)',
    file: 'billing/dist/ledger/tell-change.js',
    from: 'if (!isLedger(state.database))',
    to: 'if (false)',
    stage: 'promoted',
  },
  {
    name: 'a promoted ledger is used before it is compared (docs/protocol.md#r17)',
    file: 'billing/dist/recovery/ledger-guard.js',
    from: 'if (database === this.#checked)',
    to: 'if (true)',
    seedsMax: 2_000,
  },
];
