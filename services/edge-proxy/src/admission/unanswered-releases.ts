import type { ReleaseEntry } from '@gateway/contracts/messages';
import { EphemeralMap } from '@gateway/service-kit';
import type { AccountRoom } from './account-room.js';

interface Pending {
  readonly entry: ReleaseEntry;
  readonly answered: (() => void) | null;
}

/** Releases that admission has not confirmed. Only its answer shows that a hold was given back. */
export class UnansweredReleases {
  readonly #pending = new EphemeralMap<string, Pending>();
  readonly #room: AccountRoom;

  constructor(room: AccountRoom) {
    this.#room = room;
  }

  get size(): number {
    return this.#pending.size;
  }

  add(entry: ReleaseEntry, answered: (() => void) | null): void {
    this.#pending.set(entry.id, { entry, answered });
  }

  /** Calls each callback once. Ignores unknown IDs. */
  answered(ids: readonly string[]): void {
    for (const id of ids) {
      const pending = this.#pending.get(id);
      if (pending === undefined) continue;
      this.#pending.delete(id);
      if (!pending.entry.blind) this.#room.givenBack(pending.entry.hold);
      pending.answered?.();
    }
  }

  all(): ReleaseEntry[] {
    return Array.from(this.#pending.values(), ({ entry }) => entry);
  }
}
