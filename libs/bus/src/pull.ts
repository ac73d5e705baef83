import { createInbox, type Msg, type Subscription } from 'nats';
import { asBusFault } from './bus-fault.js';
import { inboxPrefix, type Link } from './connection.js';
import { NANOSECONDS_PER_MS } from './jetstream.js';

/** One question for messages stays open so long; then it is asked again. */
const PULL_EXPIRES_MS = 30_000;
const HEARTBEAT_MS = 2_000;
/** Without a message or a heartbeat for so long the consumer is prepared anew. */
const SILENCE_MAX_MS = 3 * HEARTBEAT_MS;
const LOOK_MS = 1_000;
const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 2_000;
/** Status codes of the server in place of messages. */
const STATUS = { heartbeat: 100, noMessages: 404, expired: 408 } as const;

export interface PullSource {
  /** For log lines. */
  readonly label: string;
  /** Makes sure that the consumer exists; called again after each interruption. */
  prepare(): Promise<{ stream: string; consumer: string }>;
  /** How many more messages can be taken now. */
  room(): number;
  /** Must not throw. */
  deliver(message: Msg): void;
  /** The server was heard: nothing newer is waiting there than what was delivered. */
  quiet?(): void;
  /**
   * With it a question brings what waits at the server, or waits for the first message and brings
   * that, and is over: the source calls {@link Pull.more} when it wants the next. Without it a
   * question brings messages as they come, and the next one follows by itself. Also called when a
   * question ends in another way.
   */
  answered?(): void;
}

/** Those of this process, looked at together: each look wakes an idle process. */
const pulls = new Set<Pull>();
let looking: NodeJS.Timeout | undefined;

/**
 * Asks a pull consumer for messages, one question at a time, each with an inbox of its own, so that
 * a late status of an earlier question is told apart. The library's consume() notices a restarted
 * server only after missed heartbeats, and its fetch() waits its whole time; here a question is
 * answered as messages arrive and is asked anew on each reconnect.
 */
export class Pull {
  readonly #link: Link;
  readonly #source: PullSource;
  readonly #inbox: string;
  readonly #subscription: Subscription;
  readonly #unlisten: () => void;
  #consumer: { stream: string; consumer: string } | undefined;
  #question = 0;
  /** Messages that the open question may still bring. */
  #wanted = 0;
  #heardAt = 0;
  #preparation = 0;
  #retryMs = RETRY_FIRST_MS;
  #retryTimer: NodeJS.Timeout | undefined;
  /**
   * Code of the trouble that was logged last, so that a stream that is missing for an hour is one
   * line.
   */
  #told = '';
  #stopped = false;

  constructor(link: Link, source: PullSource) {
    this.#link = link;
    this.#source = source;
    this.#inbox = createInbox(inboxPrefix(link.service));
    this.#subscription = link.nats.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (error !== null) link.log.error({ error, consumer: source.label }, 'a consumer inbox was refused');
        else this.#receive(message);
      },
    });
    this.#unlisten = link.onReconnect(() => this.restart());
    pulls.add(this);
    looking ??= setInterval(() => pulls.forEach((pull) => pull.look()), LOOK_MS).unref();
    this.restart();
  }

  /** Whether the server was heard of late. */
  look(): void {
    if (this.#wanted > 0 && performance.now() - this.#heardAt > SILENCE_MAX_MS) this.restart();
  }

  /** Asks for more if there is room and nothing is being asked for. */
  more(): void {
    if (this.#stopped || this.#consumer === undefined || this.#wanted > 0 || !this.#link.connected()) return;
    const room = this.#source.room();
    if (room < 1) return;
    this.#wanted = room;
    this.#question += 1;
    this.#heardAt = performance.now();
    const body = JSON.stringify({
      batch: room,
      expires: PULL_EXPIRES_MS * NANOSECONDS_PER_MS,
      idle_heartbeat: HEARTBEAT_MS * NANOSECONDS_PER_MS,
      // With a time of expiry the server waits for a first message nevertheless.
      no_wait: this.#source.answered !== undefined,
    });
    const { stream, consumer } = this.#consumer;
    this.#link.nats.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, body, {
      reply: `${this.#inbox}.${this.#question}`,
    });
  }

  /** Prepares the consumer anew. */
  restart(): void {
    clearTimeout(this.#retryTimer);
    this.#forgetQuestion();
    const preparation = ++this.#preparation;
    if (!this.#stopped && this.#link.connected()) void this.#prepare(preparation);
  }

  /** Asks no more; resolves when the last message that the server had sent is delivered. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#retryTimer);
    pulls.delete(this);
    if (pulls.size === 0) {
      clearInterval(looking);
      looking = undefined;
    }
    this.#unlisten();
    // Without interest in the inbox the server drops the open question. While disconnected there is
    // nothing to await.
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
      const fault = asBusFault(error);
      if (this.#told !== fault.code) {
        log.warn({ consumer: this.#source.label, error: fault }, 'a stream cannot be read yet');
      }
      this.#told = fault.code;
      this.#restartLater();
    }
  }

  #receive(message: Msg): void {
    this.#heardAt = performance.now();
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
    // Not at once: the source may be making this object.
    if (this.#source.answered !== undefined) queueMicrotask(() => this.#over());
  }

  #restartLater(): void {
    clearTimeout(this.#retryTimer);
    this.#retryTimer = setTimeout(() => this.restart(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MAX_MS);
  }
}
