import { bucketOfAccount, timeOfUuidV7 } from '@gateway/contracts/ids';
import type { ReleaseEntry } from '@gateway/contracts/messages';
import { bucketKeys } from '../domain/gate-keys.js';
import { blindReleaseCall, releaseCall } from '../domain/release-script.js';
import type { ScriptCall, ScriptReply } from '../domain/script-call.js';
import { storedRoute } from '../load/find-route.js';
import type { Known } from '../load/known.js';
import { AdmissionFault } from '../ports.js';
import type { Ports } from '../ports.js';
import { releasesTotal } from './release-metrics.js';

/** The script of a release, with what is needed to read its reply. */
export interface PendingRelease {
  readonly release: ReleaseEntry;
  readonly bucket: number;
  readonly call: ScriptCall;
}

export type BlindRelease = Extract<ReleaseEntry, { blind: true }>;

/** The scripts of releases, and the blind ones whose account this process does not know. */
export function prepareReleases(
  releases: readonly ReleaseEntry[],
  known: Known,
): { pending: PendingRelease[]; unknown: BlindRelease[] } {
  const pending: PendingRelease[] = [];
  const unknown: BlindRelease[] = [];
  for (const release of releases) {
    const prepared = prepareRelease(release, known);
    if (prepared !== null) pending.push(prepared);
    else if (release.blind) unknown.push(release);
  }
  return { pending, unknown };
}

function prepareRelease(release: ReleaseEntry, known: Known): PendingRelease | null {
  const idTime = timeOfUuidV7(release.id);
  if (!release.blind) {
    const keys = bucketKeys(bucketOfAccount(release.hold.account));
    return { release, bucket: keys.bucket, call: releaseCall(keys, release, idTime) };
  }
  const route = known.route(release.digests);
  if (route === null) return null;
  return { release, bucket: route.keys.bucket, call: blindReleaseCall(route.keys, route.account, release.id, idTime) };
}

/** The id when the release is done with, whatever it did; null when it has to come again. */
export function readRelease(
  pending: PendingRelease,
  reply: ScriptReply | AdmissionFault | undefined,
  noticeLoss: (bucket: number) => void,
): string | null {
  const { release, bucket } = pending;
  const done = Array.isArray(reply) && reply[0] === 'released';
  if (Array.isArray(reply) && reply[0] === 'lost') noticeLoss(bucket);
  releasesTotal.of({ outcome: done ? (release.blind ? 'blind' : release.outcome) : 'fault' }).add();
  return done ? release.id : null;
}

/**
 * A blind release whose account this process does not know. A digest without a route was never admitted by this gate:
 * then there is nothing to void.
 */
export async function settleUnknownRelease(
  ports: Ports,
  known: Known,
  release: BlindRelease,
  noticeLoss: (bucket: number) => void,
): Promise<string | null> {
  try {
    await storedRoute(ports.gate, known, release.digests);
    const pending = prepareRelease(release, known);
    if (pending === null) return release.id;
    const [reply] = await ports.gate.run([pending.call]);
    return readRelease(pending, reply, noticeLoss);
  } catch (error) {
    if (error instanceof AdmissionFault) return null;
    throw error;
  }
}
