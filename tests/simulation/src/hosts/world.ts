import type { AccountsHost } from './accounts-host.js';
import type { BillingHost } from './billing-host.js';
import type { EdgeHost } from './edge-host.js';
import type { Outbox } from './outbox.js';
import type { RunParts } from './run-parts.js';

/** A run with all of its hosts. */
export interface World extends RunParts {
  readonly accounts: AccountsHost;
  readonly outbox: Outbox;
  /** By place, like `admissions`. */
  readonly billings: (BillingHost | null)[];
  readonly edges: (EdgeHost | null)[];
}
