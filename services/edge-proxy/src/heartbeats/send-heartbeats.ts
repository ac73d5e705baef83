import { BUCKETS_TOTAL } from '@gateway/contracts/ids';
import {
  type BucketEpochs,
  HEARTBEAT_BYTES_MAX,
  HEARTBEAT_CALLS_MAX,
  type HeartbeatNames,
  type ReleaseEntry,
} from '@gateway/contracts/messages';
import { SingleFlight, groupBy, type Timer, type TimerClock } from '@gateway/service-kit';
import type { AdmissionClient } from '../admission/admission-client.js';
import type { EdgeClock } from '../admission/edge-clock.js';
import type { EpochTracker } from '../admission/epoch-tracker.js';
import type { BusClient, Heartbeat, HeartbeatReply, ResyncRequest } from '../ports.js';
import type { CallWithHold, RunningCalls } from './running-calls.js';

/** Replies are accepted for this many of the last heartbeats. */
const REMEMBERED_HEARTBEATS_MAX = 8;
/** The next full heartbeat is due after this time, or after this many messages. */
const FULL_EVERY_MS = 30_000;
const ADDITIONS_MAX = 64;

export interface HeartbeatsParts {
  readonly edge: string;
  readonly everyMs: number;
  readonly bus: Pick<BusClient, 'storeHeartbeat'>;
  readonly clock: EdgeClock;
  readonly epochs: EpochTracker;
  readonly admissionClient: AdmissionClient;
  readonly running: RunningCalls;
  readonly timers: TimerClock;
  readonly onFailed: () => void;
}

interface SentHeartbeat {
  readonly at: number;
  readonly parts: readonly HeartbeatPart[];
  isAnswered: boolean;
}

/** Calls and epochs of the last full heartbeat and of the short ones after it, if stored. */
interface Listing {
  readonly at: number;
  readonly calls: WeakSet<CallWithHold>;
  readonly epochs: ReadonlyMap<number, string>;
  /** Number of messages of short heartbeats that list calls. */
  additions: number;
}

/**
 * Sends the running calls to admission every `everyMs` milliseconds, even if there are none, and
 * handles the replies (docs/protocol.md#r5).
 */
export class Heartbeats {
  readonly #parts: HeartbeatsParts;
  readonly #sent = new Map<number, SentHeartbeat>();
  readonly #timer: Timer;
  #n = 0;
  #isLast = false;
  /** The calls that a short heartbeat only names. If null, the next heartbeat is full. */
  #listing: Listing | null = null;
  #isFullWanted = false;
  readonly #flights = new SingleFlight<void>();
  /** The epoch of each bucket in the last heartbeat that was stored completely. */
  #quoted: ReadonlyMap<number, string> = new Map();

  constructor(parts: HeartbeatsParts) {
    this.#parts = parts;
    this.#timer = parts.timers.setTicker(parts.everyMs, () => void this.send()).unref();
  }

  /**
   * Sends a heartbeat when the one in flight, if any, has ended. Callers in the meantime share one
   * heartbeat. Resolves when all its chunks are stored or have failed. A failure is not retried,
   * since the next heartbeat replaces it.
   */
  send(): Promise<void> {
    return this.#flights.follow('', () => this.#store());
  }

  /**
   * Handles a resync request. Admission restores buckets and needs a full heartbeat that quotes
   * their new epochs. A heartbeat that was already stored with them suffices, because no call of a
   * bucket begins while the bucket is restored. The request may also name the Redis run in use
   * (docs/protocol.md#r12).
   */
  onResyncRequest({ epochs: changed, run }: ResyncRequest): void {
    const { epochs } = this.#parts;
    if (run?.isUsed === true) epochs.observeRun(run);
    for (const { bucket, epoch } of changed) epochs.observe(bucket, epoch);
    const isQuoted = changed.every(({ bucket }) => this.#quoted.get(bucket) === epochs.current(bucket));
    if (!isQuoted) this.#sendFull();
  }

  onReply(reply: HeartbeatReply): void {
    const heartbeat = this.#sent.get(reply.n);
    if (heartbeat !== undefined) {
      heartbeat.isAnswered = true;
      this.#parts.clock.correct(reply.now, this.#parts.timers.monotonicMs() - heartbeat.at);
    }
    const callEpochs = new Map<number, string>();
    for (const { bucket, epoch } of reply.epochs) {
      if (this.#parts.epochs.observe(bucket, epoch, heartbeat?.at)) callEpochs.set(bucket, epoch);
    }
    const { named = [], calls = [] } = heartbeat?.parts[reply.chunk] ?? {};
    for (const call of [...named, ...calls]) call.callEpoch = callEpochs.get(call.bucket) ?? call.callEpoch;
    for (const id of reply.abort) this.#parts.running.abort(id, 'admission');
    this.#parts.admissionClient.releasesAnswered(reply.released);
    if (reply.full === true) this.#sendFull();
  }

  /**
   * Sends the last heartbeat. It is marked `last` only if no call runs and no release is pending.
   */
  async stop(): Promise<void> {
    this.#timer.cancel();
    this.#isLast = true;
    await this.send();
  }

  #sendFull(): void {
    this.#isFullWanted = true;
    if (!this.#isLast) void this.send();
  }

  async #store(): Promise<void> {
    const { bus, epochs, timers, onFailed, running } = this.#parts;
    const at = timers.monotonicMs();
    // One message per bucket, since admission runs one script per bucket and message.
    const calls = running.all().sort((call, other) => call.bucket - other.bucket);
    const listing = this.#isFullDue(at) ? null : this.#listing;
    const known = epochs.all();
    const changed = known.filter(({ bucket, epoch }) => listing?.epochs.get(bucket) !== epoch);
    this.#isFullWanted = false;
    this.#n += 1;
    const { parts, places } = this.#cut(calls, listing);
    this.#remember({ at, parts, isAnswered: false });
    const stores = this.#messages(parts, changed, listing !== null).map((message, chunk) =>
      bus.storeHeartbeat(message, places[chunk] ?? '').then(
        () => true,
        () => (onFailed(), false),
      ),
    );
    const isWhole = (await Promise.all(stores)).every(Boolean);
    const quoted = new Map(known.map(({ bucket, epoch }) => [bucket, epoch]));
    if (isWhole) this.#quoted = quoted;
    this.#listing = isWhole ? (listing ?? { at, calls: new WeakSet(), epochs: quoted, additions: 0 }) : null;
    for (const part of parts) for (const call of part.calls) this.#listing?.calls.add(call);
  }

  /** A short heartbeat suffices while admission replies and the stream has a full one. */
  #isFullDue(now: number): boolean {
    if (this.#listing === null || this.#isFullWanted || this.#isLast) return true;
    if (this.#sent.get(this.#n)?.isAnswered !== true) return true;
    return now - this.#listing.at >= FULL_EVERY_MS || this.#listing.additions >= ADDITIONS_MAX;
  }

  /** @param listing the calls that a short heartbeat only names; null for a full heartbeat */
  #cut(running: readonly CallWithHold[], listing: Listing | null): { parts: HeartbeatPart[]; places: string[] } {
    const releases = this.#parts.admissionClient.unansweredReleases();
    if (listing === null) {
      const parts = cutParts({ named: [], calls: running, releases });
      return { parts, places: parts.map((_part, chunk) => String(chunk)) };
    }
    const isListed = (call: CallWithHold): boolean => listing.calls.has(call);
    const state = cutParts({ named: running.filter(isListed), calls: [], releases });
    const added = running.filter((call) => !isListed(call));
    const additions = added.length === 0 ? [] : cutParts({ named: [], calls: added, releases: [] });
    const places = [...state.keys(), ...additions.map(() => `new-${(listing.additions += 1)}`)].map(String);
    return { parts: [...state, ...additions], places };
  }

  #messages(parts: readonly HeartbeatPart[], epochs: BucketEpochs, isShort: boolean): Heartbeat[] {
    const run = this.#parts.epochs.run();
    const isIdle = parts.every(({ named, calls, releases }) => named.length + calls.length + releases.length === 0);
    return parts.map(({ named, calls, releases }, chunk) => ({
      edge: this.#parts.edge,
      n: this.#n,
      chunk,
      chunks: parts.length,
      epochs,
      ...(run && { run }),
      calls: calls.map(({ id, hold, callEpoch, endpoint }) => ({ id, hold, callEpoch, endpoint })),
      releases: [...releases],
      last: this.#isLast && isIdle,
      ...(isShort && { names: toNames(named) }),
    }));
  }

  #remember(heartbeat: SentHeartbeat): void {
    this.#sent.set(this.#n, heartbeat);
    this.#sent.delete(this.#n - REMEMBERED_HEARTBEATS_MAX);
  }
}

function toNames(calls: readonly CallWithHold[]): HeartbeatNames[] {
  return Array.from(
    groupBy(calls, ({ callEpoch }) => callEpoch),
    ([callEpoch, under]) => ({
      callEpoch,
      accounts: Array.from(
        groupBy(under, ({ hold }) => hold.account),
        ([account, own]) => ({ account, ids: own.map(({ id }) => id) }),
      ),
    }),
  );
}

/** Bytes of a part besides its lists. */
const HEAD_BYTES = 512;
/** Most bytes of an epoch and its field names. */
const EPOCH_BYTES = 192;
/** Bytes of a comma, an ID, an endpoint, and the field names of an item. */
const ITEM_BYTES = 160;

/** The lists in one message of a heartbeat. */
export interface HeartbeatPart {
  readonly named: readonly CallWithHold[];
  readonly calls: readonly CallWithHold[];
  readonly releases: readonly ReleaseEntry[];
}

const sizes = new WeakMap<object, number>();

/** Returns the bytes of an object as JSON. Measured once per object, since items do not change. */
function bytesOf(item: object): number {
  let bytes = sizes.get(item);
  if (bytes === undefined) sizes.set(item, (bytes = Buffer.byteLength(JSON.stringify(item))));
  return bytes;
}

/**
 * Splits the lists of a heartbeat into parts that each fit into one message. Keeps the order of
 * each list. Returns one empty part if there is nothing to list.
 */
export function cutParts({ named, calls, releases }: HeartbeatPart): HeartbeatPart[] {
  const callEpochs = new Set(named.map(({ callEpoch }) => callEpoch)).size;
  const headBytes = HEAD_BYTES + EPOCH_BYTES * (BUCKETS_TOTAL + callEpochs);
  const empty = () => ({ named: [] as CallWithHold[], calls: [] as CallWithHold[], releases: [] as ReleaseEntry[] });
  const parts = [empty()];
  let bytes = headBytes;
  const partFor = (list: keyof HeartbeatPart, itemBytes: number): ReturnType<typeof empty> => {
    let part = parts.at(-1) as ReturnType<typeof empty>;
    const hasRoom = bytes === headBytes || bytes + itemBytes <= HEARTBEAT_BYTES_MAX;
    if (!hasRoom || part[list].length === HEARTBEAT_CALLS_MAX) {
      parts.push((part = empty()));
      bytes = headBytes;
    }
    bytes += itemBytes;
    return part;
  };
  for (const call of named) partFor('named', ITEM_BYTES + Buffer.byteLength(call.hold.account)).named.push(call);
  for (const call of calls) partFor('calls', ITEM_BYTES + EPOCH_BYTES + bytesOf(call.hold)).calls.push(call);
  for (const release of releases) partFor('releases', ITEM_BYTES + bytesOf(release)).releases.push(release);
  return parts;
}
