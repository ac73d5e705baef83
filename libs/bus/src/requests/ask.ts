import { fillSubject, type AnswerOf, type BodyOf } from '@gateway/contracts/messages';
import type { Msg } from 'nats';
import { toBusFault, BusFault } from '../bus-fault.js';
import type { AnyRequest, Bus, RequestOptions } from '../bus.js';
import type { Link } from '../connection.js';
import type { ReplyInbox, PendingRequest } from './reply-inbox.js';
import { decodeAnswer, encodeBody } from '../wire.js';

/** Headers of an error reply (NATS ADR-32). The requester reads them from each reply. */
export const ERROR_CODE_HEADER = 'Nats-Service-Error-Code';
export const ERROR_TEXT_HEADER = 'Nats-Service-Error';

/** The requesting side: sends requests and receives their replies. */
export function createRequester(link: Link, inbox: ReplyInbox): Pick<Bus, 'request' | 'requestMany'> {
  const request = async <M extends AnyRequest>(
    message: M,
    body: BodyOf<M>,
    options?: RequestOptions,
  ): Promise<AnswerOf<M>> => {
    try {
      const data = encodeBody(message, body, message.packed?.body);
      return readAnswer(message, await inbox.exchange(callOf(message, options), data));
    } catch (error) {
      throw counted(message, error);
    }
  };

  const requestMany: Bus['requestMany'] = (message, body, on, options) => {
    let open = true;
    let token: string | undefined;
    const close = (): void => {
      open = false;
      if (token !== undefined) inbox.close(token);
    };
    const fail = (error: unknown): void => {
      if (!open) return;
      close();
      guarded(() => on.fault(counted(message, error)));
    };
    const answered = (reply: Msg): void => {
      try {
        const answer = readAnswer(message, reply);
        guarded(() => on.answer(answer));
      } catch (error) {
        fail(error);
      }
    };
    try {
      const data = encodeBody(message, body, message.packed?.body);
      token = inbox.send(data, { ...callOf(message, options), answered, failed: fail });
    } catch (error) {
      queueMicrotask(() => fail(error));
    }
    return { close };
  };

  /**
   * Catches exceptions of the caller's callback. It runs in the library's read loop, which an
   * exception would end.
   */
  const guarded = (call: () => void): void => {
    try {
      call();
    } catch (error) {
      link.log.error({ error }, 'the receiver of a reply failed');
    }
  };
  const counted = (message: AnyRequest, error: unknown): BusFault => {
    const fault = toBusFault(error);
    link.counters.failed(message.name, fault.code);
    return fault;
  };
  return { request, requestMany };
}

function callOf(message: AnyRequest, options: RequestOptions | undefined): Omit<PendingRequest, 'answered' | 'failed'> {
  return {
    subject: subjectFor(message, options),
    answeredAs: message.subject,
    timeoutMs: options?.timeoutMs ?? message.timeoutMs,
  };
}

function subjectFor(message: AnyRequest, options: RequestOptions | undefined): string {
  if (options?.replica === undefined) return fillSubject(message, {});
  if (!message.perReplica) throw new BusFault('fault', `${message.name} is not served per replica`);
  return fillSubject({ subject: `${message.subject}.{replica}` }, { replica: options.replica });
}

/** Returns the body of a reply. Throws the BusFault of an error reply, or `invalid_message`. */
function readAnswer<M extends AnyRequest>(message: M, reply: Msg): AnswerOf<M> {
  const code = reply.headers?.get(ERROR_CODE_HEADER);
  if (code) throw new BusFault(code, reply.headers?.get(ERROR_TEXT_HEADER) || code);
  const decoded = decodeAnswer(message, reply.data);
  if (!decoded.ok) throw new BusFault('invalid_message', `reply to ${decoded.problem}`);
  return decoded.body;
}
