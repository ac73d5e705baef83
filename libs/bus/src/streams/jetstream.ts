import { BusFault, JetStreamFault } from '../bus-fault.js';
import type { ReplyInbox } from '../requests/reply-inbox.js';

export const API_TIMEOUT_MS = 5_000;
export const NANOSECONDS_PER_MS = 1_000_000;

/** Numbers of JetStream API errors that the bus handles. */
export const ERROR_NUMBER = {
  consumerNotFound: 10_014,
  messageNotFound: 10_037,
  storageExceeded: 10_047,
  streamNameInUse: 10_058,
  streamNotFound: 10_059,
  streamSubjectOverlap: 10_065,
  wrongLastSequence: 10_071,
  streamBytesExceeded: 10_054,
  streamStoreFailed: 10_077,
} as const;

/** Sends a request to the JetStream API. Rejects with a JetStreamFault on an error reply. */
export async function requestApi<T>(
  inbox: ReplyInbox,
  operation: string,
  question: object,
  timeoutMs = API_TIMEOUT_MS,
) {
  const subject = `$JS.API.${operation}`;
  const answer = await inbox.exchange({ subject, timeoutMs }, Buffer.from(JSON.stringify(question)));
  return readApiReply<T>(subject, answer.data);
}

/** Returns the API's reply. Throws a JetStreamFault on an error reply. */
export function readApiReply<T>(subject: string, data: Uint8Array): T {
  let answer: { error?: { err_code?: number; description?: string } };
  try {
    answer = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('utf8'));
  } catch {
    throw new BusFault('invalid_message', `no JetStream reply from ${subject}`);
  }
  if (answer.error === undefined) return answer as T;
  const { err_code: errorNumber = 0, description = 'unknown error' } = answer.error;
  throw new JetStreamFault(codeOf(errorNumber, description), `${subject}: ${description}`, errorNumber);
}

function codeOf(errorNumber: number, description: string): string {
  switch (errorNumber) {
    case ERROR_NUMBER.streamNotFound:
      return 'stream_missing';
    case ERROR_NUMBER.wrongLastSequence:
      return 'conflict';
    case ERROR_NUMBER.streamBytesExceeded:
      return 'stream_full';
    case ERROR_NUMBER.streamStoreFailed:
      // The number covers every failure to store. Only the text distinguishes a full stream from a
      // broken disk.
      return /maximum (bytes|messages)/.test(description) ? 'stream_full' : 'stream_refused';
    default:
      return 'stream_refused';
  }
}
