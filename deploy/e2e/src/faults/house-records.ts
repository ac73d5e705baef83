import type { UsageRecord } from './evidence.js';
import type { JoinedCall } from './join-logs.js';

/** Between the clocks' readings of one event in two processes of one machine. */
const CLOCK_SLACK_MS = 1_000;
/** A call may be admitted so long after its client has gone. */
const ADMITTED_WITHIN_MS = 10_000;

type Homeless = JoinedCall & { readonly records: UsageRecord[] };

/**
 * Gives each record to a call that has none and may be its own, and returns those for which there is none. Which record is
 * whose is not known, only whether there is a way to give them all: the nearest in time are tried first, and a record moves
 * on to another of its calls wherever that finds a home for one more. No call that reached the provider is left without a
 * record, and no record without a call, while there is a way (a largest matching, grown along augmenting paths).
 */
export function houseRecords(records: readonly UsageRecord[], calls: readonly Homeless[]): UsageRecord[] {
  const empty = calls.filter((call) => call.records.length === 0);
  const fits = empty
    .flatMap((call) => records.filter((record) => mayBeOf(call, record)).map((record) => ({ call, record })))
    .sort((one, other) => apartMs(one) - apartMs(other));
  const matching = new Matching(fits);
  for (const { call, record } of fits) matching.takeIfFree(call, record);
  for (const call of empty) {
    if (call.provider.length > 0 && !matching.recordOf.has(call)) matching.findRecord(call);
  }
  const foreign = records.filter((record) => !matching.callOf.has(record) && !matching.findCall(record));
  for (const [call, record] of matching.recordOf) call.records.push(record);
  return foreign;
}

interface Fit {
  readonly call: Homeless;
  readonly record: UsageRecord;
}

function apartMs({ call, record }: Fit): number {
  return Math.abs(record.startedAt - call.call.begunAt);
}

function mayBeOf({ call }: Homeless, record: UsageRecord): boolean {
  return (
    call.account === record.account &&
    // What only the gate knew of a call does not say whether it was streamed.
    (call.streamed === record.streamed || record.outcome === 'expired') &&
    // What was charged belongs to a client that left; what was not, to whoever has no id.
    (record.chargedNanoUsd === 0n || call.ending === 'left') &&
    record.startedAt >= call.begunAt - CLOCK_SLACK_MS &&
    record.startedAt <= call.endedAt + ADMITTED_WITHIN_MS
  );
}

class Matching {
  readonly recordOf = new Map<Homeless, UsageRecord>();
  readonly callOf = new Map<UsageRecord, Homeless>();
  readonly #recordsFor = new Map<Homeless, UsageRecord[]>();
  readonly #callsFor = new Map<UsageRecord, Homeless[]>();

  constructor(fits: readonly Fit[]) {
    for (const { call, record } of fits) {
      listIn(this.#recordsFor, call).push(record);
      listIn(this.#callsFor, record).push(call);
    }
  }

  takeIfFree(call: Homeless, record: UsageRecord): void {
    if (!this.recordOf.has(call) && !this.callOf.has(record)) this.#join(call, record);
  }

  /** Whether the call has a record then; nobody who had a partner before is without one. */
  findRecord(call: Homeless, tried = new Set<UsageRecord>()): boolean {
    return (this.#recordsFor.get(call) ?? []).some((record) => {
      if (tried.has(record)) return false;
      tried.add(record);
      const owner = this.callOf.get(record);
      if (owner !== undefined && !this.findRecord(owner, tried)) return false;
      this.#join(call, record);
      return true;
    });
  }

  /** The same from the other side. */
  findCall(record: UsageRecord, tried = new Set<Homeless>()): boolean {
    return (this.#callsFor.get(record) ?? []).some((call) => {
      if (tried.has(call)) return false;
      tried.add(call);
      const own = this.recordOf.get(call);
      if (own !== undefined && !this.findCall(own, tried)) return false;
      this.#join(call, record);
      return true;
    });
  }

  #join(call: Homeless, record: UsageRecord): void {
    this.recordOf.set(call, record);
    this.callOf.set(record, call);
  }
}

function listIn<Key, Value>(lists: Map<Key, Value[]>, key: Key): Value[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}
