import type { Timer, TimerClock } from '@gateway/service-kit';
import { createInbox, type Msg, type Subscription } from 'nats';
import { toBusFault } from '../bus-fault.js';
import { inboxPrefix, type Link } from '../connection.js';
import { NANOSECONDS_PER_MS } from './jetstream.js';

/** Expiry of a pull request. The next one follows. */
const PULL_EXPIRES_MS = 30_000;
const HEARTBEAT_MS = 2_000;
/** Without a message or a heartbeat for this time, the consumer is prepared again. */
const SILENCE_MAX_MS = 3 * HEARTBEAT_MS;
const CHECK_INTERVAL_MS = 1_000;
const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 2_000;
/** Status codes that the server sends instead of messages. */
const STATUS = { heartbeat: 100, noMessages: 404, expired: 408 } as const;

export interface PullSource {
  /** Name for log lines. */
  readonly label: string;
  /** Ensures that the consumer exists. Called again after each interruption. */
  prepare(): Promise<{ stream: string; consumer: string }>;
  /** Returns how many more messages can be taken now. */
  room(): number;
  /** Must not throw. */
  deliver(message: Msg): void;
  /** Called on a heartbeat: the server has nothing newer than the delivered messages. */
  quiet?(): void;
  /**
   * If set, a pull request fetches the messages that wait at the server, or waits for the first
   * one, and then ends. The source calls {@link Pull.more} for the next request. If not set, a
   * request delivers messages as they arrive and the next request follows by itself. Also called
   * when a request ends in another way.
   */
  answered?(): void;
}

/**
 * The pulls of each connection. One timer checks them together, because each check wakes an idle
 * process.
 */
const checked = new WeakMap<Link, { readonly pulls: Set<Pull>; readonly timer: Timer }>();

/**
 * Polls a pull consumer with one request at a time. Each request has its own inbox, so that a late
 * status of an earlier request can be recognized. The library's consume() notices a restarted
 * server only after missed heartbeats, and its fetch() waits its whole time. This class delivers
 * messages as they arrive and sends a new request on each reconnect.
 */
export class Pull {
  readonly #link: Link;
  readonly #clock: TimerClock;
  readonly #source: PullSource;
  readonly #inbox: string;
  readonly #subscription: Subscription;
  readonly #unlisten: () => void;
  #consumer: { stream: string; consumer: string } | undefined;
  #question = 0;
  /** Messages that the open request may still deliver. */
  #wanted = 0;
  #heardAt = 0;
  #preparation = 0;
  #retryMs = RETRY_FIRST_MS;
  #retryTimer: Timer | undefined;
  /** Code of the last logged error. Prevents repeated lines while a stream is missing. */
  #told = '';
  #stopped = false;

  constructor(link: Link, source: PullSource) {
    this.#link = link;
    this.#clock = link.clock;
    this.#source = source;
    this.#inbox = createInbox(inboxPrefix(link.service));
    this.#subscription = link.nats.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (error !== null) link.log.error({ error, consumer: source.label }, 'a consumer inbox was refused');
        else this.#receive(message);
      },
    });
    this.#unlisten = link.onReconnect(() => this.restart());
    checkWithOthers(link, this);
    this.restart();
  }

  /** Restarts if the server has been silent for too long. */
  look(): void {
    if (this.#wanted > 0 && this.#clock.monotonicMs() - this.#heardAt > this.#clock.timeoutMs(SILENCE_MAX_MS))
      this.restart();
  }

  /** Sends a request if there is room and no request is open. */
  more(): void {
    if (this.#stopped || this.#consumer === undefined || this.#wanted > 0 || !this.#link.connected()) return;
    const room = this.#source.room();
    if (room < 1) return;
    this.#wanted = room;
    this.#question += 1;
    this.#heardAt = this.#clock.monotonicMs();
    const body = JSON.stringify({
      batch: room,
      expires: PULL_EXPIRES_MS * NANOSECONDS_PER_MS,
      idle_heartbeat: HEARTBEAT_MS * NANOSECONDS_PER_MS,
      // With an expiry the server still waits for a first message.
      no_wait: this.#source.answered !== undefined,
    });
    const { stream, consumer } = this.#consumer;
    this.#link.nats.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, body, {
      reply: `${this.#inbox}.${this.#question}`,
    });
  }

  /** Prepares the consumer again. */
  restart(): void {
    this.#retryTimer?.cancel();
    this.#forgetQuestion();
    const preparation = ++this.#preparation;
    if (!this.#stopped && this.#link.connected()) void this.#prepare(preparation);
  }

  /** Sends no further requests. Resolves after the last message of the server is delivered. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#retryTimer?.cancel();
    stopChecking(this.#link, this);
    this.#unlisten();
    // When the inbox has no subscriber, the server drops the open request. While disconnected there
    // is nothing to await.
    if (this.#link.connected()) await this.#subscription.drain().catch(() => undefined);
    else if (!this.#link.nats.isClosed()) this.#subscription.unsubscribe();
  }

  async #prepare(preparation: number): Promise<void> {
    const { log } = this.#link;
    const outdated = (): boolean => this.#stopped || preparation !== this.#preparation;
    try {
      const consumer = await this.#source.prepare();
      if (outdated()) return;
      this.#consumer = consumer;
      this.#retryMs = RETRY_FIRST_MS;
      if (this.#told !== '') log.info({ consumer: this.#source.label }, 'a stream is being read again');
      this.#told = '';
      this.more();
    } catch (error) {
      if (outdated()) return;
      const fault = toBusFault(error);
      if (this.#told !== fault.code) {
        log.warn({ consumer: this.#source.label, error: fault }, 'a stream cannot be read yet');
      }
      this.#told = fault.code;
      this.#restartLater();
    }
  }

  #receive(message: Msg): void {
    this.#heardAt = this.#clock.monotonicMs();
    if (message.subject.startsWith(`${this.#inbox}.`)) {
      this.#receiveStatus(message);
      return;
    }
    this.#source.deliver(message);
    if (this.#wanted > 0) this.#wanted -= 1;
    if (this.#wanted === 0) this.#over();
  }

  #receiveStatus(message: Msg): void {
    if (this.#stopped || message.subject !== `${this.#inbox}.${this.#question}`) return;
    switch (message.headers?.code) {
      case STATUS.heartbeat:
        this.#source.quiet?.();
        return;
      case STATUS.noMessages:
      case STATUS.expired:
        this.#wanted = 0;
        this.#over();
        return;
      default:
        // The consumer is gone, its leader has moved, or the server shuts down.
        this.#forgetQuestion();
        this.#restartLater();
    }
  }

  #over(): void {
    if (this.#source.answered === undefined) this.more();
    else this.#source.answered();
  }

  #forgetQuestion(): void {
    this.#consumer = undefined;
    this.#wanted = 0;
    this.#question += 1;
    // Deferred, because the source may still be constructing this object.
    if (this.#source.answered !== undefined) queueMicrotask(() => this.#over());
  }

  #restartLater(): void {
    this.#retryTimer?.cancel();
    this.#retryTimer = this.#clock.setTimer(this.#retryMs, () => this.restart());
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MAX_MS);
  }
}

function checkWithOthers(link: Link, pull: Pull): void {
  const known = checked.get(link);
  if (known !== undefined) return void known.pulls.add(pull);
  const pulls = new Set([pull]);
  const check = (): void => pulls.forEach((each) => each.look());
  checked.set(link, { pulls, timer: link.clock.setTicker(CHECK_INTERVAL_MS, check).unref() });
}

function stopChecking(link: Link, pull: Pull): void {
  const known = checked.get(link);
  known?.pulls.delete(pull);
  if (known?.pulls.size !== 0) return;
  known.timer.cancel();
  checked.delete(link);
}
