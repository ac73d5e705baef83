import { type AnyMessage, type ServiceName, subjectPattern } from '@gateway/contracts/messages';
import { connect, type Msg, type NatsConnection } from 'nats';
import { ERROR_CODE_HEADER, ERROR_TEXT_HEADER } from './requests/ask.js';
import { replySubjects } from './requests/reply-inbox.js';
import { decodeAnswer, decodeMessage, type Decoded } from './wire.js';

/** A message as sent over the bus, with the names of its fields. */
export interface TailedMessage {
  readonly name: string;
  readonly subject: string;
  readonly isAnswer: boolean;
  readonly bytes: number;
  /** The body, or `{ problem }` for an invalid message, or `{ error }` for an error reply. */
  readonly body: unknown;
}

/**
 * Shows messages and their replies as they are sent; messages already in streams are not shown.
 * Subscribes with the permitted users: to bodies as a server of the message, to replies as its
 * requesters.
 * @returns a function that ends it
 */
export async function tailBus(
  urlOf: (service: ServiceName) => string,
  messages: readonly AnyMessage[],
  show: (message: TailedMessage) => void,
): Promise<() => Promise<void>> {
  const connections = new Map<ServiceName, Promise<NatsConnection>>();
  const listen = async (service: ServiceName, subject: string, hear: (message: Msg) => void): Promise<void> => {
    let connection = connections.get(service);
    if (connection === undefined) connections.set(service, (connection = connect(optionsOf(urlOf(service), service))));
    (await connection).subscribe(subject, {
      callback: (error, message) => (error === null ? hear(message) : console.error(`${subject}: ${error.message}`)),
    });
  };
  for (const message of messages) {
    const [server] = message.servedBy;
    if (server === undefined) continue;
    const hear = (received: Msg): void =>
      show(toTailedMessage(message, received, decodeMessage(message, received.data), false));
    await listen(server, subjectPattern(message), hear);
    if (message.kind !== 'request') continue;
    if (message.perReplica) await listen(server, `${message.subject}.*`, hear);
    for (const asker of message.sentBy) {
      await listen(asker, replySubjects(asker, message.subject), (received) => {
        show(toTailedMessage(message, received, decodeAnswer(message, received.data), true));
      });
    }
  }
  const all = await Promise.all(connections.values());
  await Promise.all(all.map((connection) => connection.flush()));
  return async () => void (await Promise.all(all.map((connection) => connection.close())));
}

function optionsOf(address: string, service: ServiceName) {
  const { host, username, password } = new URL(address);
  return { servers: host, user: decodeURIComponent(username) || service, pass: decodeURIComponent(password) };
}

function toTailedMessage(message: AnyMessage, received: Msg, read: Decoded<unknown>, isAnswer: boolean): TailedMessage {
  const code = received.headers?.get(ERROR_CODE_HEADER);
  const { name } = message;
  const { subject, data } = received;
  const body = code
    ? { error: code, text: received.headers?.get(ERROR_TEXT_HEADER) }
    : read.ok
      ? read.body
      : { problem: read.problem };
  return { name, subject, isAnswer, bytes: data.length, body };
}
