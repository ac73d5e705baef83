import { bucketOfAccount, timeOfUuidV7 } from '@gateway/contracts/ids';
import type { ReleaseEntry } from '@gateway/contracts/messages';
import { counter } from '@gateway/service-kit';
import { blindReleaseCall, creatingReleaseCall, releaseCall } from './release-script.js';
import type { ScriptCall, ScriptReply } from '../limit-store/script-rules.js';
import { bucketKeys } from '../limit-store/key-rules.js';
import { storedRoute } from '../records/find-key.js';
import type { RecordCache } from '../records/record-cache.js';
import { AdmissionFault, type Ports } from '../ports.js';

/** A release with the script that settles it. */
export interface PendingRelease {
  readonly release: ReleaseEntry;
  readonly bucket: number;
  readonly call: ScriptCall;
}

export type BlindRelease = Extract<ReleaseEntry, { blind: true }>;
export type NoticeLoss = (bucket: number) => void;

/** The ids that are done with, whatever their release did; what is missing has to come again. */
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

/** The scripts of releases, and the blind ones whose account this process does not know. */
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
 * The ids that are done with. A hold that was lost with another limit store is created by a second
 * script.
 */
export async function readReleases(
  { limitStore }: Pick<Ports, 'limitStore'>,
  pending: readonly PendingRelease[],
  replies: readonly (ScriptReply | AdmissionFault | undefined)[],
  noticeLoss: NoticeLoss,
): Promise<string[]> {
  const lost = pending.filter((_one, index) => outcomeOf(replies[index]) === 'create');
  const released = pending.flatMap((one, index) => readRelease(one, replies[index], noticeLoss) ?? []);
  if (lost.length === 0) return released;
  // Without replies they come again with the next heartbeat.
  const created = await limitStore.run(lost.map(creatingCall)).catch(() => []);
  return [...released, ...lost.flatMap((one, index) => readRelease(one, created[index], noticeLoss) ?? [])];
}

/** No script admits an id that is older (`lua/admit.lua`). */
const ID_AGE_MAX_MS = 30_000;

/**
 * A blind release whose account this process does not know. A digest without a route was never
 * admitted by this limit store, but its admission may be under way at another replica: it has to
 * come again until that can be no more.
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

/** Null for a blind release whose account this process does not know. */
function prepareRelease(release: ReleaseEntry, cache: RecordCache): PendingRelease | null {
  const idTime = timeOfUuidV7(release.id);
  if (!release.blind) {
    const keys = bucketKeys(bucketOfAccount(release.hold.account));
    return { release, bucket: keys.bucket, call: releaseCall(keys, release, idTime) };
  }
  const keyReference = cache.keyReference(release.digests);
  if (keyReference === null) return null;
  return {
    release,
    bucket: keyReference.keys.bucket,
    call: blindReleaseCall(keyReference.keys, keyReference.account, release.id, idTime),
  };
}

function creatingCall({ release, bucket, call }: PendingRelease): ScriptCall {
  return release.blind ? call : creatingReleaseCall(bucketKeys(bucket), release, timeOfUuidV7(release.id));
}

/**
 * The id when the release is done with; null when it has to come again, or goes on with a second
 * script.
 */
function readRelease(
  { release, bucket }: PendingRelease,
  reply: ScriptReply | AdmissionFault | undefined,
  noticeLoss: NoticeLoss,
): string | null {
  const outcome = outcomeOf(reply);
  if (outcome === 'create') return null;
  if (outcome === 'lost') noticeLoss(bucket);
  const done = outcome === 'released';
  releasesTotal.of({ outcome: !done ? 'fault' : release.blind ? 'blind' : release.outcome }).add();
  return done ? release.id : null;
}

function outcomeOf(reply: ScriptReply | AdmissionFault | undefined): string | undefined {
  return reply === undefined || reply instanceof AdmissionFault ? undefined : reply[0];
}

export const releasesTotal = counter('gateway_admission_releases_total', 'Releases by outcome', {
  outcome: ['ok', 'void', 'blind', 'fault'],
});
