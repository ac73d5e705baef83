import type { Timer } from '@gateway/service-kit';
import type { Bus, ConsumeOptions } from '../bus.js';
import type { Link } from '../connection.js';
import { openDelivery, type PendingDelivery } from './delivery.js';
import { requestApi, NANOSECONDS_PER_MS } from './jetstream.js';
import { Pull } from './pull.js';
import type { ReplyInbox } from '../requests/reply-inbox.js';

/** Delay until the messages of a failed batch are delivered again. */
const FAILED_RETRY_MS = 1_000;
/** Three, so that one lost extension does no harm. */
const EXTENSIONS_PER_ACK_WAIT = 3;

/** A delivery in this process, with the time of its last message to the server. */
interface HeldDelivery extends PendingDelivery {
  heardAt: number;
}

/** Starts a durable pull consumer and creates it if it does not exist. */
export function startConsumer(link: Link, inbox: ReplyInbox, options: ConsumeOptions): ReturnType<Bus['consume']> {
  const { clock } = link;
  const { stream, durable, batchMax } = options;
  let waiting: HeldDelivery[] = [];
  let inHand: HeldDelivery[] = [];
  let handling: Promise<void> | undefined;
  let collecting: Timer | undefined;
  let scheduled = false;
  let stopping: Promise<void> | undefined;
  const { collectMs = 0 } = options;

  const pull = new Pull(link, {
    label: `${stream}/${durable}`,
    prepare: async () => {
      await requestApi(inbox, `CONSUMER.DURABLE.CREATE.${stream}.${durable}`, {
        stream_name: stream,
        config: toConsumerConfiguration(options),
      });
      return { stream, consumer: durable };
    },
    room: () => batchMax - waiting.length,
    deliver: (message) => {
      waiting.push({ ...openDelivery(link, message), heardAt: clock.monotonicMs() });
      extending ??= clock.setTimer(extendMs, extend);
      if (collectMs === 0) schedule();
    },
    ...(collectMs > 0 && { answered: () => (waiting.length > 0 ? next() : ask()) }),
  });

  /** Runs after all messages of the same read are added, so that they are in one batch. */
  const schedule = (): void => {
    if (scheduled || handling !== undefined) return;
    scheduled = true;
    queueMicrotask(() => {
      scheduled = false;
      next();
    });
  };

  const isFull = (): boolean => {
    if (waiting.length >= batchMax) return true;
    const bytes = waiting.reduce((total, { delivery }) => total + delivery.data.length, 0);
    return bytes >= (options.collectBytes ?? Infinity);
  };

  const ask = (): void => {
    if (collecting === undefined) pull.more();
  };

  const collected = (): void => {
    collecting = undefined;
    ask();
  };

  const next = (): void => {
    if (stopping !== undefined || handling !== undefined || waiting.length === 0) return;
    collecting?.cancel();
    // Messages of the collect interval wait at the server and do not wake this process.
    collecting = collectMs > 0 && !isFull() ? clock.setTimer(collectMs, collected) : undefined;
    inHand = waiting.slice(0, batchMax);
    waiting = waiting.slice(batchMax);
    ask();
    handling = handle(inHand).finally(() => {
      handling = undefined;
      inHand = [];
      next();
    });
  };

  /**
   * Keeps deliveries that are being handled or are waiting here from being delivered to another
   * replica. New deliveries need no extension yet.
   */
  const extendMs = options.ackWaitMs / EXTENSIONS_PER_ACK_WAIT;
  let extending: Timer | undefined;
  const extend = (): void => {
    const now = clock.monotonicMs();
    const held = [...inHand, ...waiting];
    for (const each of held) {
      if (now - each.heardAt < extendMs) continue;
      each.heardAt = now;
      each.extend();
    }
    extending = held.length > 0 ? clock.setTimer(extendMs, extend) : undefined;
  };

  const handle = async (batch: HeldDelivery[]): Promise<void> => {
    try {
      await options.handler(batch.map(({ delivery }) => delivery));
    } catch (error) {
      link.log.error({ error, stream, durable, messages: batch.length }, 'the handler of a stream failed');
      for (const { delivery, settled } of batch) if (!settled()) delivery.retryAfter(FAILED_RETRY_MS);
    }
  };

  const stop = async (): Promise<void> => {
    collecting?.cancel();
    await pull.stop();
    // Lets another replica receive these now instead of after the ack wait.
    for (const { delivery } of waiting.splice(0)) delivery.retryAfter(0);
    await handling;
    extending?.cancel();
  };

  return {
    stop: () => (stopping ??= stop()),
  };
}

function toConsumerConfiguration(options: ConsumeOptions): object {
  return {
    durable_name: options.durable,
    filter_subject: options.filterSubject,
    deliver_policy: 'all',
    replay_policy: 'instant',
    ack_policy: 'explicit',
    ack_wait: options.ackWaitMs * NANOSECONDS_PER_MS,
    max_ack_pending: options.maxAckPending,
    // With a finite number a message could stay undelivered.
    max_deliver: -1,
  };
}
