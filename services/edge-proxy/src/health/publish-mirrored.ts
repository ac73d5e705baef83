import { CATALOG_MIRRORED_EVERY_MS } from '@gateway/contracts/messages';
import type { BusClient, Catalog } from '../ports.js';

export interface MirroredReportParts {
  /** Unique per process. */
  readonly replica: string;
  readonly bus: Pick<BusClient, 'publishMirrored'>;
  readonly catalog: Pick<Catalog, 'revision'>;
}

/** Tells the catalog by which of its revisions this edge decides, so that a change can be answered when it is in force. */
export class MirroredReport {
  readonly #parts: MirroredReportParts;
  readonly #timer: NodeJS.Timeout;

  constructor(parts: MirroredReportParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => this.tell(), CATALOG_MIRRORED_EVERY_MS).unref();
  }

  /** To be called at each change too. Before the first complete copy there is nothing to say. */
  tell(): void {
    this.#tell(false);
  }

  /** The edge stops: nobody waits for it any more. */
  stop(): void {
    clearInterval(this.#timer);
    this.#tell(true);
  }

  #tell(last: boolean): void {
    const { replica, bus, catalog } = this.#parts;
    const revision = catalog.revision();
    if (revision !== null) bus.publishMirrored({ replica, revision, last });
  }
}
