import type { Company } from '../scenario/make-series.js';

/** Where a mistake is looked for that ordinary runs do not meet. */
export type Stage = Company | 'gone' | 'silence' | 'failover' | 'kept' | 'windows' | 'promoted' | 'outage' | 'late';

export interface Replacement {
  /** End of the file's path; a script is named by its file. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/**
 * A mistake planted into the services: a text of a script, or of a compiled module, that is
 * replaced.
 */
export interface Mutation extends Replacement {
  readonly name: string;
  /** What makes up for the mistake, and is taken away too. */
  readonly also?: Replacement;
  /** It is looked for among these runs. */
  readonly stage?: Stage;
  /** Within how many seeds it has to be found, if not within {@link SEEDS_MAX}. */
  readonly seedsMax?: number;
  /**
   * It is not found, and why: another rule makes up for it, or what it opens is too short for these
   * scenarios.
   */
  readonly unseen?: string;
}

export const SEEDS_MAX = 500;

/** Else the ledger's guard settles again what was acknowledged and is not there. */
const LOST_ONES_STAY: Replacement = {
  file: 'billing/dist/usage/check-ledger.js',
  from: "wholeness === 'whole' && lost === 0",
  to: "wholeness === 'whole'",
};

/** Each takes one rule of docs/protocol.md#rules away. */
export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'the wallet is not asked',
    file: 'admit.lua',
    from: 'elseif available < worst then',
    to: 'elseif false then',
  },
  {
    name: 'near its end a window lets calls begin together',
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
    name: 'a heartbeat does not create what was lost (docs/protocol.md#r5)',
    file: 'beat.lua',
    from: 'if call_epochs[index] ~= beat.token then',
    to: 'if false then',
  },
  {
    name: 'a call that is only named falls silent (docs/protocol.md#r5)',
    file: 'admission/dist/heartbeats/last-heartbeats-rules.js',
    from: 'return [...listed, ...named];',
    to: 'return listed;',
    stage: 'silence',
  },
  {
    name: 'a named call gets an epoch under which nobody holds it (docs/protocol.md#r5)',
    file: 'admission/dist/heartbeats/hold-calls.js',
    from: 'known.length < lost.length',
    to: 'false',
    unseen: 'a recovery has held again what full heartbeats list (docs/protocol.md#r12)',
  },
  {
    name: 'an edge names what it has not listed (docs/protocol.md#r5)',
    file: 'edge-proxy/dist/heartbeats/send-heartbeats.js',
    from: '(call) => listing.calls.has(call)',
    to: '() => true',
    stage: 'gone',
  },
  {
    name: 'a recovery reads full heartbeats alone (docs/protocol.md#r12)',
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
    unseen: 'what it does not hold is settled a moment later',
  },
  {
    name: 'an older row replaces a newer one (docs/protocol.md#r8)',
    file: 'apply.lua',
    from: "and newer('u:' .. name, version) then",
    to: 'then',
  },
  {
    name: 'a load is written whenever it comes, under any token (docs/protocol.md#r11)',
    file: 'apply.lua',
    from: 'if loading and (load_token ~= token or now - tonumber(load_start) > LOAD_MS) then',
    to: 'if false then',
    unseen: 'rows have versions: an older one replaces nothing (docs/protocol.md#r8)',
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
    name: 'rows are let go and nothing is noted (docs/protocol.md#r13)',
    file: 'apply.lua',
    from: "redis.call('HSET', account_key, 'at', int(account_now), 'lv', int(low))",
    to: '',
  },
  {
    name: 'a correction is told once, as any snapshot (docs/protocol.md#r8)',
    file: 'usage/snapshot-rules.js',
    from: 'if (corrected.size === 0)',
    to: 'if (true)',
    unseen: 'found at seed 26,249 of a long run',
  },
  {
    name: 'a failed call is released before its record is stored',
    file: 'call/finish-call.js',
    from: 'if (isCharged)\n        sendRelease',
    to: 'if (true)\n        sendRelease',
  },
  {
    name: 'the last piece never waits for the release (docs/protocol.md#r4)',
    file: 'call/finish-call.js',
    from: '!isCharged || edge.admissionClient.mayMeetOwnHold(held.hold.account, call.roomLeft)',
    to: '!isCharged',
    stage: 'alone',
  },
  {
    name: 'ended calls are not counted where room is short (docs/protocol.md#r4)',
    file: 'edge-proxy/dist/admission/account-room.js',
    from: 'known.held + asking <= Math.min(known.left, own)',
    to: 'asking < Math.min(known.left, own)',
    stage: 'together',
  },
  {
    name: 'the last piece never waits for the record (docs/protocol.md#r4)',
    file: 'edge-proxy/dist/call/end-answer.js',
    from: 'await settlement.recorded;',
    to: '',
  },
  {
    name: 'room is counted in slots alone (docs/protocol.md#r4)',
    file: 'admit.lua',
    from: 'if wallet_hold > 0 then',
    to: 'if false then',
    stage: 'poor',
  },
  {
    name: 'nothing is asked when a hold falls due (docs/protocol.md#r9)',
    file: 'sweep.lua',
    from: "if is_silent or hold.state ~= 'o' then",
    to: 'if false then',
  },
  {
    name: 'a done hold that was asked for in vain is not asked for again (docs/protocol.md#r9)',
    file: 'sweep.lua',
    from: 'tonumber(entries_max))',
    to: 'key == due_key and tonumber(entries_max) or 0)',
  },
  {
    name: 'the look of a replica that is gone is enough for ever (docs/protocol.md#r9)',
    file: 'due.lua',
    from: 'now < tonumber(till) and tonumber(till) <= now + others_ms',
    to: 'true',
  },
  {
    name: 'the time in which nobody looked counts as silence (docs/protocol.md#r9)',
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
    name: 'what a stored heartbeat names expires (docs/protocol.md#r9)',
    file: 'admission/dist/sweep/ask-ledger.js',
    from: 'edge === null ||',
    to: 'true ||',
    stage: 'silence',
  },
  {
    name: 'a superseded limit store is obeyed (docs/protocol.md#r12)',
    file: 'admission/dist/limit-store/epoch-rules.js',
    from: 'return own.setAt > 0 &&',
    to: 'return false &&',
    stage: 'failover',
  },
  {
    name: 'a superseded limit store is never used again, whoever uses another (docs/protocol.md#r12)',
    file: 'admission/dist/limit-store/run-agreement-rules.js',
    from: 'now - this.#since >= UNUSED_MS',
    to: 'false',
    stage: 'failover',
  },
  {
    name: 'a superseded limit store is used again while another one is used (docs/protocol.md#r12)',
    file: 'admission/dist/limit-store/epoch-rules.js',
    from: 'run.id !== own.id && isLater(own, run)',
    to: 'false',
    stage: 'failover',
  },
  {
    name: 'a superseded limit store is used again while nobody can be asked (docs/protocol.md#r12)',
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
    name: 'what closes a due hold brings no rows of months (docs/protocol.md#r8)',
    file: 'admission/dist/sweep/ask-ledger.js',
    from: 'names, ids, afterLoss: false',
    to: 'names: [], ids, afterLoss: false',
  },
  {
    name: 'due calls expire although billing is behind (docs/protocol.md#r9)',
    file: 'admission/dist/sweep/ask-ledger.js',
    from: 'caughtUpTo > hold.due - shiftMs',
    to: 'true',
    unseen: 'the event that comes after all is settled (docs/protocol.md#r7)',
  },
  {
    name: 'a recovery opens without asking (docs/protocol.md#r12)',
    file: 'admission/dist/recover/recover-buckets.js',
    from: 'live.every((heartbeat) => hasReported(heartbeat, bucket, one.token))',
    to: 'true',
  },
  {
    name: 'a recovery forgets the last heartbeats (docs/protocol.md#r12)',
    file: 'admission/dist/recover/recover-buckets.js',
    from: 'for (const heartbeat of heartbeats) {',
    to: 'for (const beat of []) {',
    seedsMax: 1_000,
  },
  {
    name: 'what an edge ran that is gone is held again (docs/protocol.md#r12)',
    file: 'admission/dist/recover/recover-buckets.js',
    from: '!isGone(heartbeat, now, durations.expiryMs)',
    to: 'true',
    stage: 'gone',
  },
  {
    name: 'an edge that is gone is forgotten, whatever the ledger knows (docs/protocol.md#r12)',
    file: 'admission/dist/recover/forget-gone-edges.js',
    from: 'unknown += await this.#expire(account, calls, dueMs);',
    to: 'unknown = 0;',
    stage: 'gone',
  },
  {
    name: 'what is confirmed is not compared with its balances (docs/protocol.md#r12)',
    file: 'admission/dist/revalidate/confirm-script.js',
    from: "fields.filter(([field]) => field.startsWith('u:'))",
    to: '[]',
    stage: 'kept',
  },
  {
    name: 'a key that was revoked or rotated meanwhile is confirmed (docs/protocol.md#r12)',
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
    from: 'request.afterLoss ?',
    to: 'false ?',
    unseen: 'the next snapshot brings what was missed (docs/protocol.md#r8)',
  },
  {
    name: 'the same rank counts again (docs/protocol.md#r7)',
    file: 'billing/dist/usage/decide-rules.js',
    from: 'if (before === undefined)',
    to: 'if (before === undefined || record.rank === before.rank)',
  },
  {
    name: 'what expired is never settled (docs/protocol.md#r7)',
    file: 'billing/dist/usage/decide-rules.js',
    from: 'if (record.rank > before.rank)',
    to: 'if (false)',
  },
  {
    name: 'a snapshot closes ids without their rows (docs/protocol.md#r8)',
    file: 'billing/dist/usage/snapshot-rules.js',
    from: 'rows: written.map(toBalanceMessage)',
    to: 'rows: []',
  },
  {
    name: 'messages are acknowledged before they are settled, and nobody looks for lost ones (docs/protocol.md#r7)',
    file: 'billing/dist/usage/settle-deliveries.js',
    from: 'const isSmall =',
    to: 'for (const { ack } of deliveries) ack();\n    const isSmall =',
    also: LOST_ONES_STAY,
  },
  {
    name: 'messages are acknowledged before all shards of them are settled, and nobody looks for lost ones (docs/protocol.md#r7)',
    file: 'billing/dist/usage/settle-deliveries.js',
    from: '(await Promise.all(parts)).every(Boolean)',
    to: 'true',
    also: LOST_ONES_STAY,
    stage: 'outage',
  },
  {
    name: 'answers under a superseded epoch count (docs/protocol.md#r3)',
    file: 'edge-proxy/dist/admission/epoch-tracker.js',
    from: 'if (!isAfter && askedAt <= known.heardAt)',
    to: 'if (false)',
    unseen: 'the next heartbeat takes the call up again (docs/protocol.md#r5)',
  },
  {
    name: 'answers of an earlier run count (docs/protocol.md#r12)',
    file: 'edge-proxy/dist/admission/epoch-tracker.js',
    from: 'if (run.id !== this.#run?.id)\n            return false;',
    to: '',
    stage: 'failover',
    unseen: 'the next heartbeat takes the call up again (docs/protocol.md#r5)',
  },
  {
    name: 'an event is given up after one failed try (docs/protocol.md#r4)',
    file: 'edge-proxy/dist/journal/store-usage.js',
    from: 'this.#parts.onFailedTry(codeOf(error));',
    to: 'return;',
  },
  {
    name: 'a cut answer is charged',
    file: 'edge-proxy/dist/pricing/charge.js',
    from: "usage === null || ended === 'cut' || ended === 'failed'",
    to: 'usage === null',
  },
  {
    name: 'an admission without an answer is not released (docs/protocol.md#r3)',
    file: 'edge-proxy/dist/admission/admission-client.js',
    from: 'if (mayHold)',
    to: 'if (false)',
    unseen: 'its hold falls due and expires (docs/protocol.md#r9)',
  },
  {
    name: 'a release without an answer is not repeated (docs/protocol.md#r4)',
    file: 'edge-proxy/dist/heartbeats/send-heartbeats.js',
    from: 'const releases = this.#parts.admissionClient.unansweredReleases();',
    to: 'const releases = [];',
  },
  {
    name: 'a ledger is whole, whatever the stream was told (docs/protocol.md#r17)',
    file: 'billing/dist/usage/check-ledger.js',
    from: "if (wholeness === 'whole' && lost === 0) {",
    to: 'if (true) {',
  },
  {
    name: 'the usage of lost commits stays lost (docs/protocol.md#r17)',
    file: 'billing/dist/usage/check-ledger.js',
    from: 'const { gone, settled, isDone } = await settleMissing(deps, look, state);',
    to: 'const { gone, settled, isDone } = { gone: [], settled: 0, isDone: true };',
  },
  {
    name: 'a promoted ledger keeps its epoch (docs/protocol.md#r17)',
    file: 'billing/dist/usage/check-ledger.js',
    from: 'await store.beginEpochAfter(look.ledgerEpoch, kept?.ledgerEpoch ?? look.ledgerEpoch)',
    to: 'look.ledgerEpoch',
    seedsMax: 1_000,
  },
  {
    name: 'what an earlier ledger epoch said counts whenever it comes (docs/protocol.md#r17)',
    file: 'apply.lua',
    from: "if ledger_epoch ~= '' and ledger_epoch < (versions['in'] or '') then",
    to: 'if false then',
    stage: 'promoted',
    seedsMax: 2_000,
  },
  {
    name: 'the next epoch of an emptied limit store is earlier by its clock, and stays void (docs/protocol.md#r3)',
    file: 'edge-proxy/dist/admission/epoch-tracker.js',
    from: '!isAfter && askedAt <= known.heardAt',
    to: '!isAfter',
    stage: 'failover',
  },
  {
    name: 'a promoted ledger tells changes before it is compared (docs/protocol.md#r17)',
    file: 'billing/dist/ledger/tell-change.js',
    from: 'if (!isLedger(state.database))',
    to: 'if (false)',
    stage: 'promoted',
  },
  {
    name: 'a promoted ledger is used before it is compared (docs/protocol.md#r17)',
    file: 'billing/dist/usage/ledger-guard.js',
    from: 'if (database === this.#checked)',
    to: 'if (true)',
    seedsMax: 2_000,
  },
];
