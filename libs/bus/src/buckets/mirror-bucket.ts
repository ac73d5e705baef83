import type { Timer } from '@gateway/service-kit';
import type { BucketHead, BucketMirror, BucketSwap } from '../bus.js';
import { applyMessage, bucketStream, bucketSubjects, emptyContent, isComplete } from './bucket.js';
import type { Link } from '../connection.js';
import { parseDeliveryInfo } from '../streams/delivery.js';
import { createLastConsumer } from './load-last.js';
import { Pull } from '../streams/pull.js';
import type { ReplyInbox } from '../requests/reply-inbox.js';

const READ_AHEAD = 256;
/**
 * Bounds of the delay before the bucket is read again when the head does not cover the staged
 * entries.
 */
const REREAD_FIRST_MS = 200;
const REREAD_MAX_MS = 10_000;

/**
 * Keeps a read copy of a bucket. Messages are staged next to the copy in use. Only a head that
 * covers all staged entries swaps the two, so an emptied, missing or half-written bucket never
 * replaces a good copy.
 */
export function startMirror(link: Link, inbox: ReplyInbox, bucket: string, onSwap: BucketSwap): BucketMirror {
  let staged = emptyContent();
  /** The consumer whose messages are staged. An earlier consumer may still deliver. */
  let reading = '';
  let readings = 0;
  let shown: { entries: ReadonlyMap<string, string>; head: BucketHead } | undefined;
  let confirmedAt: number | undefined;
  /** True if the copy in use equals the last known content of the bucket. */
  let current = false;
  /** True until everything that the bucket had at the start of the reading has arrived. */
  let loading = true;
  /**
   * Messages still to arrive of those at the start of the reading. A replaced message arrives
   * later, so this many arrive in any case.
   */
  let unread = 0;
  let rereadMs = REREAD_FIRST_MS;
  let rereadTimer: Timer | undefined;

  const confirm = (): void => {
    if (current) confirmedAt = link.clock.nowMs();
  };

  const compare = (): void => {
    if (staged.head === null) return;
    if (isComplete(staged)) {
      rereadMs = REREAD_FIRST_MS;
      rereadTimer?.cancel();
      current = true;
      confirm();
      swap(staged.head);
      return;
    }
    current = false;
    rereadTimer?.cancel();
    rereadTimer = link.clock.setTimer(rereadMs, () => pull.restart()).unref();
    rereadMs = Math.min(rereadMs * 2, REREAD_MAX_MS);
  };

  const swap = (head: BucketHead): void => {
    if (shown?.head.revision === head.revision && shown.head.hash === head.hash) return;
    const before = shown?.entries ?? new Map<string, string>();
    const entries = new Map(staged.entries);
    shown = { entries, head };
    try {
      onSwap(entries, head, changedKeys(before, entries));
    } catch (error) {
      link.log.error({ error, bucket }, 'the receiver of a mirror failed');
    }
  };

  const pull = new Pull(link, {
    label: bucketStream(bucket),
    prepare: async () => {
      const turn = ++readings;
      const { name, pending } = await createLastConsumer(inbox, bucketStream(bucket), bucketSubjects(bucket));
      const place = { stream: bucketStream(bucket), consumer: name };
      // A later reading has started and owns the staged content.
      if (turn !== readings) return place;
      staged = emptyContent();
      reading = name;
      loading = true;
      unread = pending;
      return place;
    },
    room: () => READ_AHEAD,
    deliver: (message) => {
      const { consumer, sequence, pending } = parseDeliveryInfo(message);
      if (consumer !== reading) return;
      const isHead = applyMessage(staged, bucket, message, sequence);
      if (!isHead) current = false;
      unread -= 1;
      // The server's count alone is not enough: it never reaches 0 if counted messages are replaced
      // before they are read.
      if (loading && pending > 0 && unread > 0) return;
      // An entry that changes later is covered by the head that follows it.
      if (isHead || loading) compare();
      loading = false;
    },
    quiet: () => {
      if (loading) compare();
      loading = false;
      confirm();
    },
  });

  return {
    ready: () => shown !== undefined,
    revision: () => shown?.head.revision ?? 0,
    ageMs: (now) => (confirmedAt === undefined ? Infinity : Math.max(0, now - confirmedAt)),
    stop: async () => {
      await pull.stop();
      rereadTimer?.cancel();
    },
  };
}

function changedKeys(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const changed = [...after.keys()].filter((key) => before.get(key) !== after.get(key));
  return changed.concat([...before.keys()].filter((key) => !after.has(key)));
}
