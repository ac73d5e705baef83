import { BUCKETS_TOTAL, UUID_PATTERN, bucketOfAccount } from '@gateway/contracts/ids';
import type { AnswerBodyOf, ReceivedOf, admissionSlots } from '@gateway/contracts/messages';
import { type SlotView, refuseCursor } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';
import { type RunningHold, SCAN_BEGIN } from './slot-script.js';
import type { Ports } from '../ports.js';
import { findCall } from './find-call.js';
import { type ScanPlace, scanBuckets } from './scan-buckets.js';

export type SlotsQuestion = ReceivedOf<typeof admissionSlots>;
export type SlotsAnswer = AnswerBodyOf<typeof admissionSlots>;

/** Buckets scanned in one pipeline. */
const WINDOW_BUCKETS = 16;
/**
 * Pipelines of one request: enough for all buckets, and as many again for buckets with several
 * steps. The rest is left to the next page.
 */
const ATTEMPTS_MAX = (2 * BUCKETS_TOTAL) / WINDOW_BUCKETS;

/** The position where a page continues: a step of a scan, after this ID (null: from its start). */
interface Place extends ScanPlace {
  readonly after: string | null;
}

/**
 * Returns a page of the calls that have not ended, bucket by bucket. A call that runs from the
 * first page to the last is in the list; it may be listed twice while its bucket grows. A page can
 * be shorter than the limit even if another one follows.
 * @throws AdmissionFault while a bucket is not open
 */
export async function listSlots(
  ports: Pick<Ports, 'limitStore'>,
  question: SlotsQuestion,
  noticeLoss: (bucket: number) => void,
): Promise<SlotsAnswer> {
  const { account, requestId, limit } = question;
  if (requestId !== undefined) {
    const call = await findCall(ports, requestId, noticeLoss);
    return answerOf(call !== null && (account === null || call.account === account) ? [call] : [], null);
  }
  const [first, last] =
    account === null ? [0, BUCKETS_TOTAL - 1] : [bucketOfAccount(account), bucketOfAccount(account)];
  const begin: Place = { bucket: first, scan: SCAN_BEGIN, after: null };
  let place = question.cursor === null ? begin : readPlace(question.cursor);
  if (place === null || place.bucket < first || place.bucket > last) return refuseCursor();
  const pattern = `${account ?? '*'}|*`;
  const page: RunningHold[] = [];
  for (let round = 0; round < ATTEMPTS_MAX && place.bucket <= last; round += 1) {
    const places = windowFrom(place, last);
    for (const [index, step] of (await scanBuckets(ports, places, pattern, noticeLoss)).entries()) {
      const at: Place = { ...(places[index] ?? place), after: index === 0 ? place.after : null };
      const found = inOrder(step.holds, at.after);
      const room = limit - page.length;
      page.push(...found.slice(0, room));
      if (found.length > room) return answerOf(page, { ...at, after: found[room - 1]?.id ?? at.after });
      const seen = step.next === SCAN_BEGIN;
      place = { bucket: at.bucket + (seen ? 1 : 0), scan: step.next, after: null };
      if (!seen) break;
    }
  }
  return answerOf(page, place.bucket > last ? null : place);
}

/** Returns the buckets of one pipeline. The first continues at the given place. */
function windowFrom(place: Place, last: number): ScanPlace[] {
  const count = Math.min(WINDOW_BUCKETS, last - place.bucket + 1);
  return Array.from({ length: count }, (_unused, ahead) => ({
    bucket: place.bucket + ahead,
    scan: ahead === 0 ? place.scan : SCAN_BEGIN,
  }));
}

/** IDs begin with their time. */
function inOrder(holds: readonly RunningHold[], after: string | null): RunningHold[] {
  return holds.filter(({ id }) => after === null || id > after).sort((one, other) => (one.id < other.id ? -1 : 1));
}

function answerOf(page: readonly RunningHold[], next: Place | null): SlotsAnswer {
  return { slots: page.map(slotViewOf), nextCursor: next && `${next.bucket}.${next.scan}.${next.after ?? ''}` };
}

/** Returns null for a text that is not one of our cursors. */
function readPlace(cursor: string): Place | null {
  const [, bucket, scan, after] = /^(\d{1,3})\.(\d{1,20})\.([0-9a-f-]*)$/.exec(cursor) ?? [];
  if (bucket === undefined || scan === undefined || after === undefined) return null;
  if (after !== '' && !UUID_PATTERN.test(after)) return null;
  return { bucket: Number(bucket), scan, after: after === '' ? null : after };
}

/** Converts a running call to the view for operators. A call without a slot has no lease. */
export function slotViewOf({ account, id, hold, template }: RunningHold): SlotView {
  return {
    requestId: id,
    accountId: account,
    keyId: template.key,
    memberId: template.member,
    modelId: template.model,
    edge: hold.edge,
    state: hold.state === 'open' ? 'open' : 'expiring',
    takesSlot: hold.slot,
    heldUsd: formatUsd(BigInt(hold.walletMax ?? hold.worst)),
    admittedAt: timeText(hold.admittedAt),
    leaseUntil: hold.slot ? timeText(hold.lease) : null,
    dueAt: timeText(hold.due),
  };
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
