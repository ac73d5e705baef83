import type { Bus } from '@gateway/bus';
import {
  accountsRecordAccess,
  type AccessAction,
  type BodyOf,
  type ReportedChange,
  type RefusedAttemptAction,
  type RequestOrigin,
} from '@gateway/contracts/messages';
import { every, type Clock, type Logger } from '@gateway/service-kit';

/** The actor of an unauthenticated request. */
export const UNAUTHENTICATED = 'stranger';

interface AuditSubject {
  /** {@link UNAUTHENTICATED}, `operator:<name>` or `user:<id>`. */
  readonly actor: string;
  readonly account?: string | null;
  /** ID of the person, operator, route, source or call; {@link UNKNOWN} if there is none. */
  readonly objectId: string;
  readonly origin: RequestOrigin;
}

export type AccessLog = ReturnType<typeof createAccessLog>;

type Entry = BodyOf<typeof accountsRecordAccess>['entries'][number];
type RefusedAttempt = Extract<Entry, { kind: 'refused' }>;

/**
 * Most counted entries per minute: for known people and operators, and for unauthenticated clients.
 * The bounds are separate so that neither kind crowds out the other.
 */
export const KNOWN_MAX = 300;
export const STRANGERS_MAX = 64;
/** Network name of the overflow entry: one per action for all attempts above the bound. */
export const OTHER_NETWORKS = 'other';
/** Object ID of an attempt on a person or operator that the gateway does not know. */
export const UNKNOWN = 'unknown';

/** Writes audit log entries that no service writes: access, refusals, some changes. */
export function createAccessLog(services: Pick<Bus, 'request'>, clock: Clock, log: Pick<Logger, 'warn'>) {
  const [known, strangers] = [new Counts(KNOWN_MAX), new Counts(STRANGERS_MAX)];
  const count = (attempt: RefusedAttempt): void =>
    (attempt.actor === UNAUTHENTICATED && attempt.objectId === UNKNOWN ? strangers : known).add(attempt);
  const write = (entries: Entry[]) => services.request(accountsRecordAccess, { entries });
  return {
    /** Writes one entry. Rejects with a BusFault; the caller must not send its response then. */
    async noted({ account = null, ...access }: AuditSubject & { readonly action: AccessAction }): Promise<void> {
      await write([{ kind: 'access', account, ...access }]);
    },
    /**
     * Writes an entry about a change that no service records. Called before the change, so that no
     * change happens without an entry. The entry remains if the change is then refused.
     */
    async changing({ account = null, ...change }: AuditSubject & { readonly action: ReportedChange }): Promise<void> {
      await write([{ kind: 'change', account, ...change }]);
    },
    /**
     * Counts a refused attempt. Counts are written each minute, one entry per action, actor, object
     * and network. Returns at once for every actor, so that the response time reveals nothing. A
     * process that crashes loses at most the last minute.
     */
    refused({ account = null, ...attempt }: AuditSubject & { readonly action: RefusedAttemptAction }): void {
      count({ kind: 'refused', account, ...attempt, attempts: 1, since: clock.nowMs() });
    },
    /**
     * Writes the counts so far. Never rejects: counts that cannot be written are kept for the next
     * flush.
     */
    async flush(): Promise<void> {
      const counted = [...known.take(), ...strangers.take()];
      if (counted.length === 0) return;
      try {
        await write(counted);
      } catch (err) {
        log.warn({ err }, 'refused attempts are not in the audit log yet');
        counted.forEach(count);
      }
    },
  };
}

/** Flushes every minute and on stop. Flushes never overlap. */
export function startFlushing(access: Pick<AccessLog, 'flush'>): { stop(): Promise<void> } {
  const flushing = every(EVERY_MS, () => access.flush());
  return {
    async stop() {
      await flushing.stop();
      await access.flush();
    },
  };
}

const EVERY_MS = 60_000;

/**
 * Counts attempts per key, up to a maximum number of keys. Attempts above the maximum are counted
 * in one overflow entry per action.
 */
class Counts {
  #by = new Map<string, RefusedAttempt>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  add(attempt: RefusedAttempt): void {
    const { action, actor, account, objectId, origin } = attempt;
    const key = [action, actor, account, objectId, origin.client].join('\n');
    const found = this.#by.get(key);
    if (found === undefined && this.#by.size >= this.#most && origin.client !== OTHER_NETWORKS) {
      const rest = { actor: UNAUTHENTICATED, account: null, objectId: UNKNOWN };
      return this.add({ ...attempt, ...rest, origin: { ...origin, client: OTHER_NETWORKS, agent: null } });
    }
    this.#by.set(key, { ...(found ?? attempt), attempts: (found?.attempts ?? 0) + attempt.attempts });
  }

  take(): RefusedAttempt[] {
    const taken = [...this.#by.values()];
    this.#by = new Map();
    return taken;
  }
}
