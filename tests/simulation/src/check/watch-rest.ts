import type { World } from '../hosts/world.js';
import type { Host } from '../time/host.js';

/** Interval between checks whether a quiet run is over. */
const CHECK_INTERVAL_MS = 250;
const REST_MS = 60_000;
const REST_AFTER_CRASH_MS = 180_000;
/** Longest time after which a hold with an unknown outcome is queried again. */
const ASKED_AGAIN_MS = 60_000;
/** Longest call: two attempts, each ended by the 20 s timeout for a silent provider. */
const LONGEST_CALL_MS = 45_000;
/** Shorter than the expiry: if only messages were lost, no call may wait for it. */
const UNOWNED_MS = 20_000;

/** Checks that a run finishes all work in time (docs/protocol.md#i7). */
export class CompletionWatch {
  #lookAt = 0;
  #quietSince: number | null = null;
  /** Time since which no call runs and no message is in flight. */
  #idleSince: number | null = null;

  constructor(
    private readonly world: World,
    private readonly hosts: () => readonly Host[],
  ) {}

  beQuiet(): void {
    this.#quietSince = this.world.time.now;
  }

  /** True if nothing is in flight or held. Reports a violation if that takes too long. */
  isOver(): boolean {
    const { now } = this.world.time;
    if (this.#quietSince === null || now < this.#lookAt) return false;
    this.#lookAt = now + CHECK_INTERVAL_MS;
    const busy = busyWith(this.world);
    if (busy !== null) this.#idleSince = null;
    else this.#idleSince ??= now;
    const held = heldSomewhere(this.world);
    // A last message may still be in flight for the usual latency, so the next check decides.
    if (held === null && this.#idleSince !== null) return this.#idleSince < now;
    this.#requireOwner(held);
    this.#requireRest(this.#quietSince, busy ?? held?.what ?? '');
    return false;
  }

  #requireRest(quietSince: number, reason: string): void {
    const { truth, time } = this.world;
    const outages = this.hosts().map(({ cutUntil, hungUntil }) => Math.max(cutUntil, hungUntil));
    const restMs = truth.hasCrash ? REST_AFTER_CRASH_MS : REST_MS;
    const untilMs = Math.max(quietSince, ...outages) + LONGEST_CALL_MS + restMs + ASKED_AGAIN_MS;
    if (time.now > untilMs) truth.broke('all work finishes in time', reason);
  }

  /** If only messages went wrong, every call must be ended without waiting for its expiry. */
  #requireOwner(held: RemainingHold | null): void {
    const { truth, time, scenario } = this.world;
    if (held === null || !held.isUnended || this.#idleSince === null) return;
    // The edge does not know of a duplicate that is decided later. The bus creates none.
    const onlyMessages = scenario.faults.every(
      (fault) => fault.kind === 'database' || (fault.kind === 'message' && fault.how !== 'double'),
    );
    if (onlyMessages && time.now > this.#idleSince + UNOWNED_MS) truth.broke('no hold has to expire', held.what);
  }
}

function busyWith(world: World): string | null {
  const { edges, streams, ledger, accounts, outbox, truth, network, time } = world;
  for (const edge of edges) {
    if (edge === null) return 'an edge is down';
    const { edge: verbs, journal, admissionClient } = edge.verbs;
    if (verbs.running.size > 0) return `${edge.id} runs ${verbs.running.size} calls`;
    if (journal.unstored > 0) return `${edge.id} has unstored events`;
    if (admissionClient.releasesWaiting > 0) return `${edge.id} waits for releases`;
    if (admissionClient.waiting > 0) return `${edge.id} waits for answers`;
  }
  if (network.lateUntil >= time.now) return 'late messages are on their way';
  if ([...world.admissions, ...world.billings].includes(null)) return 'a process is down';
  if (ledger.settledPosition().sequence < streams.usage.length) return 'messages are unsettled';
  if (accounts.waiting > 0 || outbox.waiting > 0) return 'changes are not in force';
  // Admission records the call as expired when the edge is gone (docs/protocol.md#r12).
  const unrecorded = truth.calls.find(
    ({ id, edge }) => id !== null && !edge.host.isAlive && streams.listed.has(id) && !ledger.records.has(id),
  );
  if (unrecorded !== undefined) return `${unrecorded.id} of a dead edge has no record`;
  const open = truth.calls.some(
    ({ client, edge }) => edge.host.isAlive && !client.seen.isComplete && !client.answer.isGone,
  );
  return open ? 'a client waits' : null;
}

interface RemainingHold {
  readonly what: string;
  /** True if the outcome of the call is unknown. */
  readonly isUnended: boolean;
}

function heldSomewhere({ server, scenario }: World): RemainingHold | null {
  for (const { name } of scenario.accounts) {
    if (!server.isOpen(name)) return { what: `the bucket of ${name} is not open`, isUnended: false };
    const held = server.holds(name);
    const [first] = held;
    if (first !== undefined) {
      const isUnended = held.some(({ state }) => state !== 'done');
      return { what: `${first.id} of ${name} is ${first.state}`, isUnended };
    }
    const slots = server.account(name)['n'] ?? '0';
    if (slots !== '0') return { what: `${slots} slots of ${name} are taken`, isUnended: false };
  }
  return null;
}
