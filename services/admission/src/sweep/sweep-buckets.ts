import { BUCKETS_TOTAL } from '@gateway/contracts/ids';
import { type DuePoll, type PollSharing, buildDueCall, readDueReply } from './due-script.js';
import { findBucketKeys } from '../limit-store/key-rules.js';
import {
  ASKED_AGAIN_MAX,
  SWEEP_ENTRIES_MAX,
  type SweepOutcome,
  readSweepReply,
  buildSweepCall,
} from './sweep-script.js';
import { AdmissionFault, type Ports, runScript } from '../ports.js';
import type { LedgerClient } from './ledger-client.js';
import { holdsQueried, holdsKept, slotsFreed } from '../metrics.js';

/** Without heartbeats at any replica, a time this long and this many pauses long is a gap. */
const SILENCE_MS = 5_000;
const SILENCE_PAUSES = 3;

/** Script runs in one sweep. The next sweep handles further due entries. */
const RUNS_MAX = 20;

const ALL_BUCKETS = Array.from({ length: BUCKETS_TOTAL }, (_unused, bucket) => bucket);

/**
 * Processes all due entries in all buckets (docs/protocol.md#r9). Passes the calls whose end is
 * unknown to the ledger client, and reports buckets that were lost. Any replica may run it, also
 * several at the same time. If another replica's poll is recent enough, does nothing.
 * @throws AdmissionFault while Redis is away
 */
export async function sweepBuckets(
  ports: Ports,
  ledger: Pick<LedgerClient, 'settles' | 'take'>,
  noticeLoss: (bucket: number) => void,
  sharing: PollSharing,
): Promise<void> {
  const { silentUntil, ...found } = await pollDue(ports, sharing);
  let { buckets } = found;
  // While billing is away, one repeated query per bucket is enough to detect its return, so the
  // length of the outage does not prolong sweeps.
  const unsettledMax = ledger.settles() ? ASKED_AGAIN_MAX : 1;
  for (let run = 0; run < RUNS_MAX && buckets.length > 0; run += 1) {
    const outcomes = await sweepOnce(ports, buckets, silentUntil, run === 0 ? unsettledMax : 0);
    for (const [bucket, { state }] of outcomes) {
      if (state !== 'open') noticeLoss(bucket);
    }
    ledger.take(outcomes.values());
    buckets = [...outcomes].flatMap(([bucket, { seen }]) => (seen >= SWEEP_ENTRIES_MAX ? [bucket] : []));
  }
}

async function pollDue({ limitStore, replica, edges, durations }: Ports, sharing: PollSharing): Promise<DuePoll> {
  const { leaseMs, sweepMs } = durations;
  const silenceMs = Math.max(SILENCE_MS, SILENCE_PAUSES * sweepMs);
  const listening = { listens: edges.listens(), silenceMs, leaseMs };
  const found = readDueReply(await runScript(limitStore, buildDueCall(ALL_BUCKETS, replica, sharing, listening)));
  holdsKept.count = found.holds;
  return found;
}

async function sweepOnce(
  { limitStore, log }: Ports,
  buckets: readonly number[],
  silentUntil: number,
  unsettledMax: number,
): Promise<ReadonlyMap<number, SweepOutcome>> {
  const replies = await limitStore.run(
    buckets.map((bucket) => buildSweepCall(findBucketKeys(bucket), silentUntil, unsettledMax)),
  );
  const outcomes = new Map<number, SweepOutcome>();
  for (const [index, bucket] of buckets.entries()) {
    const reply = replies[index];
    if (reply === undefined || reply instanceof AdmissionFault) {
      log.warn({ bucket, err: reply }, 'a bucket was not swept');
      continue;
    }
    const outcome = readSweepReply(reply);
    slotsFreed.add(outcome.slotsFreed);
    holdsQueried.add(outcome.dueHolds.length);
    outcomes.set(bucket, outcome);
  }
  return outcomes;
}
