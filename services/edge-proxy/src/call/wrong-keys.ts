import { RateByClient } from '@gateway/service-kit';

/** Networks that are remembered. */
const NETWORKS_MAX = 20_000;
/** Keys that nobody has, of one network: so many at once, so many a second. Above, its unknown keys are looked up at a bounded rate. */
const WRONG = { burst: 30, perSecond: 0.5, keysMax: NETWORKS_MAX } as const;
/** Look-ups of unknown keys of a network that presented too many wrong ones. */
const LOOK_UPS = { burst: 5, perSecond: 5, keysMax: NETWORKS_MAX } as const;

/** Bounds how often admission is asked for keys that somebody invents: anybody can make one of the right form. Times are monotonic. */
export class WrongKeys {
  readonly #wrong = new RateByClient(WRONG);
  readonly #lookUps = new RateByClient(LOOK_UPS);

  /** Whether admission may be asked now for an unknown key from this network; each true counts. */
  mayAsk(network: string, nowMs: number): boolean {
    return this.#wrong.has(network, nowMs) || this.#lookUps.take(network, nowMs);
  }

  /** Admission knows nobody with a key from this network. */
  refused(network: string, nowMs: number): void {
    this.#wrong.charge(network, nowMs);
  }
}
