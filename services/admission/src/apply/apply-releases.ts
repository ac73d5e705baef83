import { bucketOfAccount, timeOfUuidV7 } from '@gateway/contracts/ids';
import type { ReleaseEntry } from '@gateway/contracts/messages';
import { counter } from '@gateway/service-kit';
import { buildBlindReleaseCall, buildCreatingReleaseCall, buildReleaseCall } from './release-script.js';
import type { ScriptCall, ScriptReply } from '../limit-store/script-rules.js';
import { findBucketKeys } from '../limit-store/key-rules.js';
import { storedRoute } from '../records/find-key.js';
import type { RecordCache } from '../records/record-cache.js';
import { AdmissionFault, type Ports } from '../ports.js';

/** A release and the script call that applies it. */
export interface PendingRelease {
  readonly release: ReleaseEntry;
  readonly bucket: number;
  readonly call: ScriptCall;
}

export type BlindRelease = Extract<ReleaseEntry, { blind: true }>;
export type NoticeLoss = (bucket: number) => void;

/** Returns the IDs of all processed releases. The edge must repeat the others. */
export async function applyReleases(
  ports: Ports,
  cache: RecordCache,
  releases: readonly ReleaseEntry[],
  noticeLoss: NoticeLoss,
): Promise<string[]> {
  const { pending, unknown } = prepareReleases(releases, cache);
  const replies = await ports.limitStore.run(pending.map(({ call }) => call));
  const released = await readReleases(ports, pending, replies, noticeLoss);
  for (const release of unknown) {
    const id = await applyUnknownRelease(ports, cache, release, noticeLoss);
    if (id !== null) released.push(id);
  }
  return released;
}

/** Builds the scripts of releases, and lists blind releases of accounts that are not cached. */
export function prepareReleases(
  releases: readonly ReleaseEntry[],
  cache: RecordCache,
): { pending: PendingRelease[]; unknown: BlindRelease[] } {
  const pending: PendingRelease[] = [];
  const unknown: BlindRelease[] = [];
  for (const release of releases) {
    const prepared = prepareRelease(release, cache);
    if (prepared !== null) pending.push(prepared);
    else if (release.blind) unknown.push(release);
  }
  return { pending, unknown };
}

/**
 * Returns the IDs of the processed releases. A second script creates a hold that was lost with an
 * earlier limit store.
 */
export async function readReleases(
  { limitStore }: Pick<Ports, 'limitStore'>,
  pending: readonly PendingRelease[],
  replies: readonly (ScriptReply | AdmissionFault | undefined)[],
  noticeLoss: NoticeLoss,
): Promise<string[]> {
  const lost = pending.filter((_one, index) => toOutcome(replies[index]) === 'create');
  const released = pending.flatMap((one, index) => readRelease(one, replies[index], noticeLoss) ?? []);
  if (lost.length === 0) return released;
  // Without replies, the edge repeats these releases with its next heartbeat.
  const created = await limitStore.run(lost.map(buildCreatingCall)).catch(() => []);
  return [...released, ...lost.flatMap((one, index) => readRelease(one, created[index], noticeLoss) ?? [])];
}

/** Scripts do not admit an ID that is older (`lua/admit.lua`). */
const ID_AGE_MAX_MS = 30_000;

/**
 * Applies a blind release whose account this process does not know. A digest without a key
 * reference was never admitted by this limit store, but another replica may be admitting it now.
 * Until that is no longer possible, the edge must repeat the release.
 */
export async function applyUnknownRelease(
  ports: Ports,
  cache: RecordCache,
  release: BlindRelease,
  noticeLoss: NoticeLoss,
): Promise<string | null> {
  try {
    await storedRoute(ports.limitStore, cache, release.digests);
    const pending = prepareRelease(release, cache);
    if (pending === null) return ports.clock.now() - timeOfUuidV7(release.id) > ID_AGE_MAX_MS ? release.id : null;
    const [reply] = await ports.limitStore.run([pending.call]);
    return readRelease(pending, reply, noticeLoss);
  } catch (error) {
    if (error instanceof AdmissionFault) return null;
    throw error;
  }
}

/** Returns null for a blind release whose account this process does not know. */
function prepareRelease(release: ReleaseEntry, cache: RecordCache): PendingRelease | null {
  const idTime = timeOfUuidV7(release.id);
  if (!release.blind) {
    const keys = findBucketKeys(bucketOfAccount(release.hold.account));
    return { release, bucket: keys.bucket, call: buildReleaseCall(keys, release, idTime) };
  }
  const keyReference = cache.keyReference(release.digests);
  if (keyReference === null) return null;
  return {
    release,
    bucket: keyReference.keys.bucket,
    call: buildBlindReleaseCall(keyReference.keys, keyReference.account, release.id, idTime),
  };
}

function buildCreatingCall({ release, bucket, call }: PendingRelease): ScriptCall {
  return release.blind ? call : buildCreatingReleaseCall(findBucketKeys(bucket), release, timeOfUuidV7(release.id));
}

/**
 * Returns the ID when the release has been processed; null when the edge must repeat it or a second
 * script follows.
 */
function readRelease(
  { release, bucket }: PendingRelease,
  reply: ScriptReply | AdmissionFault | undefined,
  noticeLoss: NoticeLoss,
): string | null {
  const outcome = toOutcome(reply);
  if (outcome === 'create') return null;
  if (outcome === 'lost') noticeLoss(bucket);
  const done = outcome === 'released';
  releasesTotal.of({ outcome: !done ? 'fault' : release.blind ? 'blind' : release.outcome }).add();
  return done ? release.id : null;
}

function toOutcome(reply: ScriptReply | AdmissionFault | undefined): string | undefined {
  return reply === undefined || reply instanceof AdmissionFault ? undefined : reply[0];
}

export const releasesTotal = counter('gateway_admission_releases_total', 'Releases by outcome', {
  outcome: ['ok', 'void', 'blind', 'fault'],
});
