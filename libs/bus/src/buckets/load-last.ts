import { createInbox, type Msg } from 'nats';
import { BusFault } from '../bus-fault.js';
import { inboxPrefix, type Link } from '../connection.js';
import { parseDeliveryInfo } from '../streams/delivery.js';
import { requestApi, NANOSECONDS_PER_MS } from '../streams/jetstream.js';
import type { ReplyInbox } from '../requests/reply-inbox.js';

/** Timeout for reading the last messages of all subjects. */
const LOAD_MAX_MS = 15_000;
const BATCH = 256;
/** The server removes a consumer that is not polled for this time. */
const INACTIVE_MS = 30_000;

/**
 * Creates a consumer that delivers the last message of each subject first and then new messages. It
 * needs no acknowledgements.
 */
export async function createLastConsumer(
  inbox: ReplyInbox,
  stream: string,
  filterSubject: string,
  headersOnly = false,
): Promise<{ name: string; pending: number }> {
  const { name, num_pending: pending } = await requestApi<{ name: string; num_pending: number }>(
    inbox,
    `CONSUMER.CREATE.${stream}`,
    {
      stream_name: stream,
      config: {
        filter_subject: filterSubject,
        deliver_policy: 'last_per_subject',
        headers_only: headersOnly,
        replay_policy: 'instant',
        ack_policy: 'none',
        max_deliver: -1,
        mem_storage: true,
        inactive_threshold: INACTIVE_MS * NANOSECONDS_PER_MS,
      },
    },
  );
  return { name, pending };
}

/** Status codes of the server when a request was fulfilled only in part or not at all. */
const NOTHING_MORE = new Set([404, 408]);

/**
 * Returns the fault of a status message; none if the server has no more messages. While messages
 * are being replaced, the pending count does not reach 0, so the server's status also ends the
 * reading.
 */
function toFault(stream: string, message: Msg): BusFault | undefined {
  const code = message.headers?.code ?? 0;
  return NOTHING_MORE.has(code) ? undefined : new BusFault('stream_refused', `${stream}: ${message.headers?.status}`);
}

/**
 * Returns the last message of each subject of a stream, in stream order. If a message is replaced
 * during the reading, the server may skip both the old and the new message. A result with fewer
 * subjects than the server had counted is therefore read again. Rejects with `stream_missing`,
 * `timeout`…
 */
export async function loadLast(
  link: Link,
  inbox: ReplyInbox,
  stream: string,
  filterSubject: string,
  headersOnly = false,
): Promise<Msg[]> {
  const { clock } = link;
  const stopAt = clock.monotonicMs() + clock.timeoutMs(LOAD_MAX_MS);
  for (;;) {
    const consumer = await createLastConsumer(inbox, stream, filterSubject, headersOnly);
    if (consumer.pending === 0) return [];
    const loaded = await readToEnd(link, stream, consumer.name, stopAt - clock.monotonicMs());
    if (new Set(loaded.map(({ subject }) => subject)).size >= consumer.pending) return loaded;
  }
}

async function readToEnd(link: Link, stream: string, consumer: string, maxMs: number): Promise<Msg[]> {
  const loaded: Msg[] = [];
  const replies = createInbox(inboxPrefix(link.service));
  const ask = (): void => {
    const body = JSON.stringify({ batch: BATCH, no_wait: true });
    link.nats.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, body, { reply: replies });
  };
  let end: (fault?: BusFault) => void = () => undefined;
  const finished = new Promise<void>((resolve, reject) => {
    end = (fault) => (fault === undefined ? resolve() : reject(fault));
  });
  const subscription = link.nats.subscribe(replies, {
    callback: (error, message) => {
      if (error !== null) return end(new BusFault('forbidden', error.message));
      if (message.subject === replies) return end(toFault(stream, message));
      loaded.push(message);
      if (parseDeliveryInfo(message).pending === 0) end();
      else if (loaded.length % BATCH === 0) ask();
    },
  });
  const timer = link.clock.setTimer(maxMs, () => end(new BusFault('timeout', `${stream} was not read in time`)));
  const unlisten = link.onDisconnect(() => end(new BusFault('disconnected', 'the bus was disconnected')));
  try {
    ask();
    await finished;
  } finally {
    timer.cancel();
    unlisten();
    if (!link.nats.isClosed()) subscription.unsubscribe();
  }
  return loaded;
}
