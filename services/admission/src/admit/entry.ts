import { timeOfUuidV7 } from '@gateway/contracts/ids';
import type { AdmitEntry, BatchAnswer } from '@gateway/contracts/messages';
import type { AdmitOutcome, AdmitTarget } from './admit-script.js';
import { findPriceVersion } from './catalog-view-rules.js';
import { type CachedAccount, type PreparedCall, prepareCall, prepareOpen } from './prepare-call-rules.js';
import type { KeyReference } from '../records/record-cache.js';
import { AdmissionFault, type Ports } from '../ports.js';

/** One entry of a batch: a whole call, or only its opening (up to `rate_limited`). */
export type Entry =
  | { readonly kind: 'admit'; readonly edge: string; readonly body: AdmitEntry }
  | {
      readonly kind: 'open';
      readonly edge: string;
      readonly body: Pick<AdmitEntry, 'id' | 'digests' | 'traceparent'>;
    };

/** Time that a hold's slot waits for the first heartbeat (docs/protocol.md#r2). */
const FIRST_LEASE_MS = 10_000;

/**
 * @param notBefore Redis time in ms that a script has returned for this account; the script does
 * not decide at an earlier time
 * @throws AdmissionFault `catalog_error` while there is no catalog
 */
export function prepareEntry(ports: Ports, entry: Entry, known: CachedAccount, notBefore = 0): PreparedCall {
  const now = Math.max(ports.clock.now(), notBefore);
  if (entry.kind === 'open') return prepareOpen(entry.body.digests, known, now);
  return prepareCall(entry.body, known, requireCatalog(ports), now);
}

export function buildTarget(ports: Ports, entry: Entry, keyReference: KeyReference): AdmitTarget {
  return {
    keys: keyReference.keys,
    account: keyReference.account,
    key: keyReference.key,
    id: entry.body.id,
    idTime: timeOfUuidV7(entry.body.id),
    edge: entry.edge,
    counted: entry.kind === 'admit' && entry.body.opened,
    firstLeaseMs: Math.min(FIRST_LEASE_MS, ports.durations.leaseMs),
    expiryMs: ports.durations.expiryMs,
  };
}

/** Returns the answer for an outcome, or null when the decision must be repeated after a load. */
export function toAnswer(
  ports: Ports,
  entry: Entry,
  keyReference: KeyReference,
  prepared: PreparedCall,
  outcome: AdmitOutcome,
): BatchAnswer | null {
  const { id } = entry.body;
  const { account } = keyReference;
  const { bucket } = keyReference.keys;
  switch (outcome.kind) {
    case 'admitted':
    case 'counted': {
      const { funded } = prepared;
      const sources = [...(funded?.sources ?? [])];
      const admitted = {
        kind: 'admitted',
        id,
        account,
        bucket,
        epoch: outcome.epoch,
        sources,
        repeated: false,
      } as const;
      if (outcome.kind !== 'admitted') return { ...admitted, hold: null, price: null };
      return { ...admitted, hold: outcome.hold, price: funded?.billed?.price ?? null, roomLeft: outcome.roomLeft };
    }
    case 'repeated':
      return buildRepeatedAnswer(ports, entry, keyReference, outcome);
    case 'opened':
      return { kind: 'opened', id, account, bucket, epoch: outcome.epoch };
    case 'refused':
      return { kind: 'refused', id, code: outcome.code, facts: outcome.facts };
    case 'gone':
      return { kind: 'gone', id };
    case 'late':
      throw new AdmissionFault('admission_error', 'the id is more than 30 s from Redis time');
    case 'lost':
    case 'restoring':
      throw new AdmissionFault('admission_error', `the bucket ${bucket} is ${outcome.kind}`);
    case 'load':
    case 'know':
    case 'clock':
      return null;
  }
}

/** Builds the stored answer: the original hold with the current sources. */
function buildRepeatedAnswer(
  ports: Ports,
  entry: Entry,
  keyReference: KeyReference,
  outcome: Extract<AdmitOutcome, { kind: 'repeated' }>,
): BatchAnswer {
  const { id } = entry.body;
  if (entry.kind === 'open') return { kind: 'gone', id };
  const { hold, epoch } = outcome;
  const view = requireCatalog(ports);
  const price = findPriceVersion(view, hold.model, hold.priceVersion);
  const sources = [...(view.get(hold.model)?.enabledSources.get(entry.body.endpoint) ?? [])];
  if (price === null || sources.length === 0) {
    throw new AdmissionFault('admission_error', 'the catalog has changed since the call was admitted');
  }
  return {
    kind: 'admitted',
    id,
    account: keyReference.account,
    bucket: keyReference.keys.bucket,
    epoch,
    hold,
    price,
    sources,
    repeated: true,
  };
}

function requireCatalog(ports: Ports) {
  const view = ports.catalog.view();
  if (view === null) throw new AdmissionFault('catalog_error', 'no catalog has arrived yet');
  return view;
}
