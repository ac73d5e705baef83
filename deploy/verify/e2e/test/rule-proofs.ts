const ADMISSION = 'services/admission/src';
const BILLING = 'services/billing/src';
const E2E = 'deploy/verify/e2e/src';
const EDGE = 'services/edge-proxy/src';
const SIMULATION = 'deploy/verify/simulation/src';

/**
 * Tests that would fail if a rule of docs/protocol.md were broken: by file, from the root of the
 * repository, and title, as it stands in the file. What each proves are ids of `protocolRules`.
 */
export const RULE_PROOFS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  [`${SIMULATION}/run/play.system.test.ts`]: {
    'every rule of the protocol holds after every step of every seed': ['i1', 'i2', 'i3', 'i4', 'i5', 'i6', 'i7', 'i8'],
  },
  [`${EDGE}/call/admit-call.test.ts`]: {
    'a call whose body took long is admitted under an id of its end, which its answer carries': ['r1'],
  },
  [`${EDGE}/admission/edge-clock.test.ts`]: {
    'the clock shows Redis time as the last quick answer told it': ['r1'],
  },
  [`${EDGE}/admission/admission-client.test.ts`]: {
    'an answer under a superseded token is void: the same id is asked again': ['r3'],
    'an answer older than 5 s is not acted on: its hold is given back': ['r3'],
    'after 2 s in all the call is a fault, and what may have been admitted is released blind until it is answered': [
      'r3',
    ],
  },
  [`${EDGE}/admission/account-room.test.ts`]: {
    'whether an answer may end without its release: %s, %s': ['r4'],
  },
  [`${EDGE}/journal/store-usage.test.ts`]: {
    'an event unstored for more than 2 s stops admissions until none is left': ['r3'],
    '%s that wait stop admissions until one is stored': ['r3'],
    'a failed message is tried for ever with the same bytes': ['r4', 'an edge is cut off from NATS'],
    'a message holds at most 100 events and 256 KB': ['r4'],
  },
  [`${EDGE}/journal/leave-usage.test.ts`]: {
    'what the stream has not taken by the end of the grace stays in the file': ['an edge is told to stop'],
    'without a file that can be written the log holds each event in a line that the command stores again': [
      'an edge is told to stop',
    ],
  },
  [`${EDGE}/stop-edge.test.ts`]: {
    'while others still run, the spool has the usage of calls that have ended, each of them once': [
      'an edge is told to stop',
    ],
  },
  [`${EDGE}/admission/epoch-tracker.test.ts`]: {
    'what a run answers to a question that was asked under its known epoch was set after that one': ['r3'],
    'the run with the newest epoch of all decides in each bucket, also where its epoch is the earlier one': ['r12'],
  },
  [`${EDGE}/call/finish-call.test.ts`]: {
    'a call that failed is released when the stream has its record: until then its hold tells of it': ['r4'],
    'a call that nobody was asked for has no record to wait for': ['i5'],
  },
  [`${EDGE}/call/handle-model-call.test.ts`]: {
    'a stream that ends properly without its final marker is complete and passed as it is': ['i3'],
    'a stream that the provider ends by a %s never looks complete and costs nothing': ['i4'],
  },
  [`${EDGE}/call/attempt-source.test.ts`]: {
    'a client that leaves is read on for, and pays what the provider reports': ['i4'],
  },
  [`${EDGE}/call/provider-charges.test.ts`]: {
    '%s: the charge is what the provider asks': ['i3'],
  },
  [`${EDGE}/http/hostile-clients.system.test.ts`]: {
    'a client that takes nothing is ended as a cut stream, and pays for what was delivered': ['i4'],
  },
  [`${EDGE}/heartbeats/send-heartbeats.test.ts`]: {
    'a heartbeat names every call with its hold and tag, and every release that nobody answered': ['r4', 'r5'],
    'tags change only by the heartbeat reply that named the call': ['r5'],
    'after a full heartbeat a short one names what is listed, and lists only what is new': ['r5'],
    'the next heartbeat is full when %s': ['r5'],
  },
  [`${EDGE}/wire.test.ts`]: {
    'the last piece waits for the stored event and the answered release, and goes out without them after their time': [
      'r4',
    ],
    'while NATS is away running answers finish, their last piece waits, and the event is stored when it is back': [
      'an edge is cut off from NATS',
      'NATS is gone',
    ],
    'without NATS a call is 500 admission_error, and so is the list of models': [
      'an edge is cut off from NATS',
      'NATS is gone',
    ],
    'a hung replica of admission costs one retry at another': ['a replica of admission is killed or hangs'],
    'a stop lets running answers finish, and says its last heartbeat': ['an edge is told to stop'],
    'a stop cuts what outlasts the grace; a call whose body is complete then is ended at once, and gives its slot back':
      ['an edge is told to stop'],
  },
  [`${ADMISSION}/admit/decide-entry.test.ts`]: {
    'an id %i ms from Redis time is refused as a fault': ['r1'],
    'a repeated id gets its stored answer, from any replica, and is held once': ['r2'],
    'an id that has ended is gone, whatever ended it': ['r2'],
  },
  [`${ADMISSION}/admit/refusal-order.test.ts`]: {
    'ranks %i and %i: the lower one answers': ['r2'],
  },
  [`${ADMISSION}/admit/admit-batch.test.ts`]: {
    'what waits for an owner is answered on its own and within its deadline': ['r2'],
    'a full Redis admits nothing, and still releases, applies and sweeps': ['r14'],
  },
  [`${ADMISSION}/admit/model-against-script.system.test.ts`]: {
    'script and model agree after each step, seed': ['r2', 'r13'],
  },
  [`${ADMISSION}/admit/wallet.test.ts`]: {
    'of 1,000 calls at once through three replicas exactly those that the wallet covers are admitted': ['i6'],
    'held sums and slots are zero again after all ends, in any order': ['i7'],
  },
  [`${ADMISSION}/admit/plan.test.ts`]: {
    'what a lost balance snapshot settled counts twice until its hold is asked for, never zero times': ['r8'],
    'a session in which nothing was billed was never opened': ['r13'],
    'a USD window is used up by settled use alone, and says when it resets': ['i6'],
  },
  [`${ADMISSION}/admit/next-period.test.ts`]: {
    'while time passes the boundary each call counts in the period of its admission, and each limit is met exactly': [
      'r13',
      'a month, week or session ends in mid-call',
    ],
  },
  [`${ADMISSION}/heartbeat/answer-heartbeat.test.ts`]: {
    'an absent call is held again when another limit store held it, and not when this one closed it': ['r5'],
    'a named call that has lost its hold is asked for in full, under its old epoch until it is held': ['r5'],
  },
  [`${ADMISSION}/commands/newer-records.test.ts`]: {
    'what admission was told and its owner has lost is named, and nothing else': ['r17'],
  },
  [`${ADMISSION}/domain/last-heartbeats.test.ts`]: {
    'a short heartbeat says which calls run, the full one before it what holds them': ['r12'],
    'an edge is silent while others are heard, when %s': ['r12'],
    'a heartbeat that a server stored whose clock was ahead makes nobody silent': ['r12'],
  },
  [`${ADMISSION}/sweep/sweep-buckets.test.ts`]: {
    'while billing is away one question of a sweep is asked, the log stays flat, and all are asked after it': [
      'r9',
      'billing is down',
    ],
    'a heartbeat keeps the slot for 30 seconds and the hold for 120': ['r5', 'r9'],
    'a call whose edge vanished is recorded as expired, once billing has caught up, the same by every replica': ['r9'],
    'while billing does not answer it is asked ever more rarely, and nothing is lost': ['r9'],
    'of a time in which nobody looked takes nothing: heartbeats come first, for a lease': [
      'r9',
      'Redis cannot be reached',
      'all admissions are away',
    ],
    'does not count while the bus is away, and a look then is enough for nobody': ['r9', 'NATS is gone'],
    'of an edge whose stored heartbeat is young expires nothing': ['r9'],
  },
  [`${ADMISSION}/apply/apply-releases.test.ts`]: {
    'a release of an unknown id: with another tag it is held as done, with the same one it was closed': ['r6'],
    'a void of an unknown id leaves a tombstone only while the id is young': ['r6'],
    'a done hold counts its amount, frees its slot and stays small': ['r14'],
  },
  [`${ADMISSION}/apply/apply-update.test.ts`]: {
    'rows are applied by their own version, whatever the order of arrival': ['r8'],
    'what is applied before the account is loaded stands against a load that read older records': ['r10'],
    'a look-up that the owner answered before the rotation does not let the old secret in after it': [
      'accounts is down',
    ],
  },
  [`${ADMISSION}/apply/let-go.test.ts`]: {
    'what was let go is asked for and comes back no older, and a late settle of it is exact': ['r13'],
  },
  [`${ADMISSION}/load/load-account.test.ts`]: {
    'the calls of an unloaded account share one load': ['r11'],
    'a load is written only under the token it was made under, and within five seconds of its start': ['r11'],
    'a restored ledger, told by its ledger epoch, is asked anew': ['r17'],
    'terms that the ledger had and lost decide at no replica, though their version was counted again': ['r17'],
    'a silent accounts is lookup_failed, a silent billing admission_error, and neither for a loaded account': [
      'billing is down',
      'accounts is down',
    ],
  },
  [`${ADMISSION}/recover/recover-buckets.system.test.ts`]: {
    'after a loss nothing is admitted before every live edge has reported, then its calls are held again': ['r12'],
    'the last heartbeat of a dead edge counts, and its unanswered releases': ['r12'],
    'a superseded Redis that nobody else uses is restored under later epochs': ['r12'],
    'while Redis is away calls are faults at once, and right again after it is back': [
      'Redis is gone, emptied or failed over',
    ],
  },
  [`${ADMISSION}/recover/lose-limit-store.system.test.ts`]: {
    'an edge that heartbeats without hearing the reports is waited for twelve seconds, then counts with its last heartbeat':
      ['r12'],
    'Redis %s: a wallet that streams hold in full is not spent a second time': [
      'Redis is gone, emptied or failed over',
    ],
  },
  [`${ADMISSION}/recover/lose-limit-store-under-load.system.test.ts`]: {
    'billing is behind when Redis is lost: accounts are faults until it has caught up, then right': [
      'Redis is lost and billing is behind',
    ],
  },
  [`${ADMISSION}/revalidate/confirm-accounts.test.ts`]: {
    'what has changed meanwhile is loaded: %s': ['r12'],
    'a key that is revoked while its account is being confirmed stays revoked': ['r12'],
  },
  [`${ADMISSION}/revalidate/revalidation.system.test.ts`]: {
    'after a restart of Redis from its file nobody is asked for accounts that have not changed, and balances are exact':
      ['r12'],
  },
  [`${ADMISSION}/adapters/check-redis.test.ts`]: {
    '%s %s is refused': ['r12'],
  },
  [`${ADMISSION}/adapters/redis-limit-store.test.ts`]: {
    'a server whose place another one has taken is given up, and not taken again while it has its epochs': [
      'r12',
      'Redis has two primaries after a failover',
    ],
    'a superseded server is used again when nobody uses another one, and its epochs are replaced': [
      'r12',
      'Redis has two primaries after a failover',
    ],
    'a server that began empty is given up by the first change that is applied there, and none is in force': ['r12'],
    'a run is as late as the newest of its epochs, whichever bucket has it': ['r12'],
    'a handshake that waited for the others does nothing when its connection has ended meanwhile': ['r12'],
  },
  [`${ADMISSION}/adapters/bus-edges.test.ts`]: {
    'the stream of heartbeats keeps the last message of each subject, for 7 days': ['r15'],
  },
  [`${ADMISSION}/domain/back-pressure.test.ts`]: {
    'admission stops above 85 percent of Redis, and never without a limit': ['r14'],
    'admission stops above 90 percent of the stream and at events older than seven days': ['r15'],
  },
  [`${BILLING}/usage/settle-batch.test.ts`]: {
    'in any order, in batches of %s, give the same books': ['r7', 'events come twice, late, re-ordered, broken'],
    'the same rank with other content is set aside: the first stands': ['r7'],
    'a plan-funded call: the plan up to its bound, then the wallet up to its hold, then the plan again': ['r7'],
    'a correction is told until admission has it: its hold is gone, and nobody would ask for it': ['r8'],
    'a call belongs to the month inside its id and to the month of its admission, whenever it is settled': [
      'r16',
      'a month, week or session ends in mid-call',
    ],
    'whose id lies beyond the months of the ledger': ['r16'],
    'many workers on the same events at once charge each of them once': ['i2'],
  },
  [`${BILLING}/usage/settle-orders.test.ts`]: {
    'settle, expire, late settle, refund and top-up of one call, in every order and with repetitions': ['i2'],
  },
  [`${BILLING}/usage/settle-deliveries.test.ts`]: {
    'a batch is committed, then told, then acknowledged': ['r7'],
    'is tried again, and sets nothing aside': ['r7', 'PostgreSQL is down'],
    'what could not be told is not acknowledged; told again, it changes nothing': ['billing is killed at any point'],
    'an event that is not in the form of the contract is set aside alone and its id is named': [
      'events come twice, late, re-ordered, broken',
    ],
  },
  [`${BILLING}/usage/stream.test.ts`]: {
    'the stream of usage events refuses what does not fit, and keeps a message for 14 days': ['r15'],
  },
  [`${BILLING}/usage/snapshot-rules.test.ts`]: {
    'an id and every row that it touched travel together; what was never written is left out': ['r8'],
  },
  [`${BILLING}/usage/progress-store.test.ts`]: {
    'a stream that is more than half full keeps no reserve': ['r15'],
    'never deletes what is not settled, whatever was marked': ['r15'],
  },
  [`${BILLING}/usage/disturb-worker.system.test.ts`]: {
    'a worker that is killed before and after every port call of a batch, twice each': [
      'billing is killed at any point',
    ],
    '5,000 events that queued while no worker ran': ['billing is down'],
    'PostgreSQL and NATS are killed under load': ['NATS is gone', 'PostgreSQL is down'],
  },
  [`${BILLING}/ledger/ledger-guards.test.ts`]: {
    'is refused when it %s': ['i1'],
    'an epoch is later than the one before it and than any other that was seen; nobody begins the same one twice': [
      'r17',
    ],
  },
  [`${BILLING}/ledger/tell-change.test.ts`]: {
    'a change of a ledger that was not compared yet is not told, and is to be told again': ['r17'],
  },
  [`${BILLING}/ledger/audit.test.ts`]: {
    'a wallet of another value': ['i1'],
  },
  [`${BILLING}/commands/restore-ledger.system.test.ts`]: {
    'a ledger from a backup settles everything since, and admission is told to load anew': ['r17'],
    'what has left the stream since the backup is told, and a loss has to be accepted': ['r17'],
    'the whole stream into an empty ledger gives the same balances': ['i8'],
  },
  [`${BILLING}/accounts/load-store.test.ts`]: {
    'a load reads the windows that run or come, and not one row of the year before': ['r11'],
  },
  [`${BILLING}/usage/check-ledger.test.ts`]: {
    'a promotion that another replica has looked at meanwhile begins no second epoch': ['r17'],
    'a new epoch is later than the last that was kept, which the ledger may have lost': ['r17'],
    'a purge of unsettled usage is found although no consumer acknowledged it': ['r15'],
  },
  [`${BILLING}/usage/lose-commits.system.test.ts`]: {
    'usage that was settled, acknowledged and lost is settled again, under a new epoch, before a load is answered': [
      'r17',
      'PostgreSQL is promoted, with lost commits',
    ],
    'a lost wallet entry is known by the chains, although the stream knows of nothing': ['r17'],
    'usage that is lost and has left the stream stops loads until a person decides, and the log names it': [
      'r17',
      'lost usage has left the stream',
    ],
  },
  [`${BILLING}/service.test.ts`]: {
    'while an event is not settled, no later time is claimed, and after a loss nothing is answered': [
      'r11',
      'Redis is lost and billing is behind',
    ],
  },
  'services/accounts/src/base/in-force.test.ts': {
    'a change waits five seconds for admission': ['r10'],
    'with admission away changes are written, answered not_in_force, and in force soon after it is back': ['r10'],
  },
  'services/catalog/src/objects/save.test.ts': {
    'a change is in force when the last edge and admission has it, whichever replica is asked': ['r10'],
  },
  'services/dashboard/src/http/serve-route.test.ts': {
    '%s is 503 while a service is away, never 401': ['PostgreSQL is down'],
  },
  'libs/bus/src/connect-bus.test.ts': {
    'while the server is away calls fail at once, and afterwards everything works again': ['r18'],
    'a client that leaves two pings unanswered is disconnected': ['r18'],
  },
  'libs/bus/src/store.test.ts': {
    'a full stream refuses, and takes again after it was trimmed': ['r15'],
  },
  'libs/postgres/src/outbox.test.ts': {
    'no connection is held while a delivery runs': ['r18'],
  },
  'libs/service-kit/src/run.test.ts': {
    'is not ready while it starts, though it answers; and not ready from the signal on, while stop still runs': [
      'an edge is told to stop',
    ],
  },
  [`${E2E}/one-call.test.ts`]: {
    'a plain call reaches the provider byte for byte, is passed back byte for byte, and is charged exactly': ['i3'],
  },
  [`${E2E}/failures.system.test.ts`]: {
    'when the sources answer %j the client gets %i %s and pays nothing (streamed: %p)': ['i5'],
  },
  [`${E2E}/failover.system.test.ts`]: {
    'sources fail in every way of the table: client, sources asked, charge and health are as it says': [
      'i3',
      'i4',
      'i5',
    ],
  },
  [`${E2E}/foreign-provider.test.ts`]: {
    '%s: the client reads the answer, and pays what it reports': ['i3'],
  },
  [`${E2E}/real-server.system.test.ts`]: {
    '%s: the client reads an answer, and pays what it reports': ['i3'],
  },
  [`${E2E}/limits.system.test.ts`]: {
    'those that fit are answered ($promise), and nothing is left held': ['i6', 'i7'],
    'calls meet a wallet: exactly those that fit are answered': ['a replica of admission is killed or hangs'],
  },
  [`${E2E}/limits-clock.system.test.ts`]: {
    'a minute, a week, a month and a paid period end in the midst of calls: each period has exactly what fits': [
      'a month, week or session ends in mid-call',
    ],
  },
  [`${E2E}/outage.system.test.ts`]: {
    'nobody is refused for it, limits stay exact, questions and logs stay flat, time left is told': ['billing is down'],
  },
  [`${E2E}/faults.system.test.ts`]: {
    'hit processes, servers and the ways between: the checker finds nothing': ['i2', 'i7', 'an edge is killed'],
    'while catalog is away calls go on, and an edge and an admission that start meanwhile serve from the published catalog':
      ['catalog is down'],
  },
  [`${E2E}/edge-faults.system.test.ts`]: {
    'an edge killed with 50 open streams: clients see a cut, slots free after the lease, each call expires at 0, the other edge goes on':
      ['an edge is killed', 'i4'],
    'an edge that comes back after the expiry: what it settles wins, each stream is charged exactly once': [
      'an edge is cut off from NATS',
    ],
    'an admission that hangs: calls go on at the other within the retry, and nothing is taken twice when it wakes': [
      'a replica of admission is killed or hangs',
    ],
    'under load: only 500s until it is right again, nothing of a held wallet is spent twice, the ledger is exact': [
      'Redis is gone, emptied or failed over',
    ],
  },
  [`${E2E}/standbys.system.test.ts`]: {
    '$name: calls are refused for seconds only, and all is served again': [
      'PostgreSQL fails over',
      'a NATS server of three is gone',
      'Redis is gone, emptied or failed over',
    ],
  },
  [`${E2E}/rotation.system.test.ts`]: {
    'rotations under load: no call that started after the answer is admitted with the old secret': ['r10'],
  },
  [`${E2E}/catalog-changes.system.test.ts`]: {
    'a price changed under load is in force with its answer: every later call has it, a call in flight keeps its own': [
      'catalog is down',
    ],
  },
};
