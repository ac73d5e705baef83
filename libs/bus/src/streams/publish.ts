import { fillSubject, subjectPattern } from '@gateway/contracts/messages';
import type { Msg } from 'nats';
import { toBusFault } from '../bus-fault.js';
import type { AnyPublished, AnyStored, Bus, SubscribeOptions } from '../bus.js';
import type { Link } from '../connection.js';
import type { Subscriptions } from '../requests/subscriptions.js';
import { decodeMessage, encodeBody } from '../wire.js';

const CONCURRENCY_MAX = 4_096;

/** Sends and receives messages without a reply. */
export function createPublisher(link: Link, subscriptions: Subscriptions): Pick<Bus, 'publish' | 'subscribe'> {
  return {
    publish: (message, words, body) => {
      const subject = fillSubject(message, words);
      const data = encodeBody(message, body);
      if (!link.connected()) return false;
      try {
        link.nats.publish(subject, data);
      } catch (error) {
        link.log.warn({ error: toBusFault(error), message: message.name }, 'a message was not published');
        return false;
      }
      return true;
    },

    subscribe: (message, handler, options) => {
      const concurrencyMax = options?.concurrencyMax ?? CONCURRENCY_MAX;
      let running = 0;
      const receive = (received: Msg): void => {
        if (running >= concurrencyMax) {
          subscriptions.refuse(message.name, 'overloaded', `${running} are being handled`);
          return;
        }
        const decoded = decodeMessage(message, received.data);
        if (!decoded.ok) {
          subscriptions.refuse(message.name, 'invalid_message', decoded.problem);
          return;
        }
        running += 1;
        void subscriptions.run(
          () => handler(decoded.body),
          () => {
            running -= 1;
          },
          (error) => {
            running -= 1;
            link.log.error({ error, message: message.name }, 'the handler of a message failed');
          },
        );
      };
      subscriptions.open(subscriptionSubject(message, options?.words), queueOf(link, message, options), receive);
    },
  };
}

/** Returns the message's subject with the given words fixed and wildcards for all others. */
function subscriptionSubject(message: AnyPublished | AnyStored, words: Readonly<Record<string, string>> = {}): string {
  const fixed = message.subject.replace(/\{(\w+)\}/g, (open, word: string) =>
    word in words ? fillSubject({ subject: open }, words) : open,
  );
  return subjectPattern({ subject: fixed });
}

function queueOf(link: Link, message: AnyPublished | AnyStored, options?: SubscribeOptions): string | undefined {
  const queue = message.kind === 'published' ? message.reaches === 'one' : options?.queue === true;
  return queue ? link.service : undefined;
}
