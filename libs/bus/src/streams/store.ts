import { fillSubject } from '@gateway/contracts/messages';
import { headers, type MsgHdrs } from 'nats';
import { toBusFault } from '../bus-fault.js';
import type { Bus } from '../bus.js';
import type { Link } from '../connection.js';
import { readApiReply } from './jetstream.js';
import type { ReplyInbox } from '../requests/reply-inbox.js';
import { assertSendable, encodeBody } from '../wire.js';

const STORE_TIMEOUT_MS = 2_000;

export interface StoreAcknowledgement {
  sequence: number;
  duplicate: boolean;
}

/** Sends messages that a stream stores. */
export function createStore(link: Link, inbox: ReplyInbox): Pick<Bus, 'store'> {
  return {
    store: async (message, words, body, options) => {
      try {
        const data = body instanceof Uint8Array ? body : encodeBody(message, body, message.packed?.body);
        assertSendable(message, data);
        const sent = options?.messageId === undefined ? undefined : createMessageIdHeader(options.messageId);
        return await storeBytes(inbox, fillSubject(message, words), data, options?.timeoutMs ?? STORE_TIMEOUT_MS, sent);
      } catch (error) {
        const fault = toBusFault(error);
        link.counters.failed(message.name, fault.code);
        throw fault;
      }
    },
  };
}

/** Returns the header by which the server recognizes a message that it has already stored. */
function createMessageIdHeader(messageId: string): MsgHdrs {
  const named = headers();
  named.set('Nats-Msg-Id', messageId);
  return named;
}

/** Resolves after the stream of the subject has stored the bytes. */
export async function storeBytes(
  inbox: ReplyInbox,
  subject: string,
  data: Uint8Array,
  timeoutMs: number,
  sent?: MsgHdrs,
): Promise<StoreAcknowledgement> {
  const answer = await inbox.exchange({ subject, timeoutMs }, data, sent);
  const { seq, duplicate } = readApiReply<{ seq: number; duplicate?: boolean }>(subject, answer.data);
  return { sequence: seq, duplicate: duplicate === true };
}
