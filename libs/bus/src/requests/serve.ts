import { fillSubject, type AnswerBodyOf, type ReceivedOf } from '@gateway/contracts/messages';
import { headers, type Msg, type MsgHdrs } from 'nats';
import { ERROR_CODE_HEADER, ERROR_TEXT_HEADER } from './ask.js';
import { BusFault } from '../bus-fault.js';
import type { AnyRequest, Bus, ServeOptions } from '../bus.js';
import type { Link } from '../connection.js';
import type { Subscriptions } from './subscriptions.js';
import { decodeMessage, encodeBody } from '../wire.js';

const CONCURRENCY_MAX = 256;
/** Length of an error text in a header. */
const ERROR_TEXT_CHARS_MAX = 500;
const NO_DATA = new Uint8Array(0);

/** The serving side: handles requests and sends their replies. */
export function createRequestServer(link: Link, subscriptions: Subscriptions): Pick<Bus, 'serve' | 'serveMany'> {
  const answer = (message: AnyRequest, to: Msg, body: unknown): void => {
    let data: Uint8Array;
    try {
      data = encodeBody(message, body, message.packed?.answer);
    } catch (error) {
      fail(message, to, error);
      return;
    }
    respond(to, data);
  };

  const fail = (message: AnyRequest, to: Msg, error: unknown): void => {
    if (error instanceof BusFault) {
      respond(to, NO_DATA, errorHeaders(error.code, error.message));
      return;
    }
    // The cause may hold data that the requester must not see, so it is only logged here.
    link.log.error({ error, message: message.name }, 'the handler of a request failed');
    respond(to, NO_DATA, errorHeaders('fault', `${message.name}: the handler failed`));
  };

  const respond = (to: Msg, data: Uint8Array, withHeaders?: MsgHdrs): void => {
    // While disconnected the requester no longer waits, and the library would buffer replies
    // without bound.
    if (!link.connected()) return;
    try {
      to.respond(data, withHeaders === undefined ? {} : { headers: withHeaders });
    } catch (error) {
      link.log.warn({ error }, 'a reply was not sent');
    }
  };

  const open = <M extends AnyRequest>(
    message: M,
    handle: (body: ReceivedOf<M>, to: Msg) => Promise<void> | void,
    options: ServeOptions | undefined,
  ): void => {
    const concurrencyMax = options?.concurrencyMax ?? CONCURRENCY_MAX;
    let running = 0;
    const ended = (): void => {
      running -= 1;
    };
    const receive = (to: Msg): void => {
      if (running >= concurrencyMax) {
        subscriptions.refuse(message.name, 'overloaded', `${running} are being handled`);
        respond(to, NO_DATA, errorHeaders('overloaded', `${message.name}: ${running} are being handled`));
        return;
      }
      const decoded = decodeMessage(message, to.data);
      if (!decoded.ok) {
        subscriptions.refuse(message.name, 'invalid_message', decoded.problem);
        respond(to, NO_DATA, errorHeaders('invalid_message', decoded.problem));
        return;
      }
      running += 1;
      void subscriptions.run(
        () => handle(decoded.body, to),
        ended,
        (error) => {
          ended();
          fail(message, to, error);
        },
      );
    };
    const subject = fillSubject(message, {});
    subscriptions.open(subject, link.service, receive);
    if (message.perReplica) subscriptions.open(`${subject}.${link.replica}`, undefined, receive);
  };

  return {
    serve: (message, handler, options) => {
      open(message, async (body, to) => answer(message, to, await handler(body)), options);
    },
    serveMany: <M extends AnyRequest>(
      message: M,
      handler: (body: ReceivedOf<M>, reply: (answer: AnswerBodyOf<M>) => void) => Promise<void> | void,
      options?: ServeOptions,
    ) => {
      open(message, (body, to) => handler(body, (part) => answer(message, to, part)), options);
    },
  };
}

function errorHeaders(code: string, text: string): MsgHdrs {
  const made = headers();
  made.set(ERROR_CODE_HEADER, code);
  made.set(ERROR_TEXT_HEADER, text.replace(/\s+/g, ' ').slice(0, ERROR_TEXT_CHARS_MAX));
  return made;
}
