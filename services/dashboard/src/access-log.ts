import type { Bus } from '@gateway/bus';
import {
  accountsNoteAccess,
  type AccessAction,
  type BodyOf,
  type NotedChange,
  type RefusedAction,
  type RequestOrigin,
} from '@gateway/contracts/messages';
import { every, type Clock, type Logger } from '@gateway/service-kit';

/** Who it was when nobody has proved who they are. */
export const STRANGER = 'stranger';

interface About {
  /** {@link STRANGER}, `operator:<name>` or `user:<id>`. */
  readonly actor: string;
  readonly account?: string | null;
  /** The person, operator, route, source or call that it was about; `unknown` for none. */
  readonly objectId: string;
  readonly origin: RequestOrigin;
}

export type AccessLog = ReturnType<typeof createAccessLog>;

type Entry = BodyOf<typeof accountsNoteAccess>['entries'][number];
type Counted = Extract<Entry, { kind: 'refused' }>;

/**
 * Entries of one minute about people and operators who are known, and about strangers: neither
 * crowds out the other.
 */
export const KNOWN_MAX = 300;
export const STRANGERS_MAX = 64;
/** The network in whose name the rest of a minute is counted, one entry for each action. */
export const OTHER_NETWORKS = 'other';
/** What it was about, when that is nobody whom the gateway knows. */
export const UNKNOWN = 'unknown';

/** What the audit log has beside the changes that services write down themselves. */
export function createAccessLog(services: Pick<Bus, 'request'>, clock: Clock, log: Pick<Logger, 'warn'>) {
  const [known, strangers] = [new Counts(KNOWN_MAX), new Counts(STRANGERS_MAX)];
  const count = (attempt: Counted): void =>
    (attempt.actor === STRANGER && attempt.objectId === UNKNOWN ? strangers : known).add(attempt);
  const write = (entries: Entry[]) => services.request(accountsNoteAccess, { entries });
  return {
    /**
     * Writes one entry. Rejects with a BusFault: what cannot be written down is not to be answered.
     */
    async noted({ account = null, ...access }: About & { readonly action: AccessAction }): Promise<void> {
      await write([{ kind: 'access', account, ...access }]);
    },
    /**
     * The same of a change that no service writes down: before it is made, so that none is made
     * without an entry. Its entry may be of one that was refused then.
     */
    async changing({ account = null, ...change }: About & { readonly action: NotedChange }): Promise<void> {
      await write([{ kind: 'change', account, ...change }]);
    },
    /**
     * Counts a refused attempt; counts are written each minute, as one entry for each action,
     * actor, object and network. Returns at once, whoever it was, so that its time tells nothing. A
     * process that dies loses at most its last minute.
     */
    refused({ account = null, ...attempt }: About & { readonly action: RefusedAction }): void {
      count({ kind: 'refused', account, ...attempt, attempts: 1, since: clock.nowMs() });
    },
    /**
     * Writes the counts so far. Never rejects: counts that cannot be written are kept for the next
     * time.
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

/** Flushes every minute, never twice at once, and when it is stopped. */
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

/** Counts by what they are about: at most so many, and one more of each action for the rest. */
class Counts {
  #by = new Map<string, Counted>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  add(attempt: Counted): void {
    const { action, actor, account, objectId, origin } = attempt;
    const key = [action, actor, account, objectId, origin.client].join('\n');
    const found = this.#by.get(key);
    if (found === undefined && this.#by.size >= this.#most && origin.client !== OTHER_NETWORKS) {
      const rest = { actor: STRANGER, account: null, objectId: UNKNOWN };
      return this.add({ ...attempt, ...rest, origin: { ...origin, client: OTHER_NETWORKS, agent: null } });
    }
    this.#by.set(key, { ...(found ?? attempt), attempts: (found?.attempts ?? 0) + attempt.attempts });
  }

  take(): Counted[] {
    const taken = [...this.#by.values()];
    this.#by = new Map();
    return taken;
  }
}
