import type { SingleFlight } from '@gateway/service-kit';
import type { AccountLoader } from './load-account.js';
import type { FoundRoute, RecordCache } from './record-cache.js';
import type { Ports } from '../ports.js';
import type { KeyUses } from '../uses/key-uses.js';
import type { RefusedCalls } from '../uses/refused-calls.js';

/** What the decisions of one process share. */
export interface Decider {
  readonly ports: Ports;
  readonly cache: RecordCache;
  readonly uses: Pick<KeyUses, 'note'>;
  readonly refused: Pick<RefusedCalls, 'note'>;
  readonly loader: AccountLoader;
  /** Look-ups of digests and of records that are under way. */
  readonly routing: SingleFlight<FoundRoute | null>;
  readonly populating: SingleFlight<boolean>;
  /** Told of each bucket that has no token, or whose calls are being asked for. */
  readonly noticeLoss: (bucket: number) => void;
}
