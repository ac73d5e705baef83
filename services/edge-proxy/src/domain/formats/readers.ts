import type { AnswerFormat } from '../endpoints.js';
import { choicesReader } from './choices.js';
import { readEmbeddings, readTokenCount } from './counts.js';
import { messagesReader } from './messages.js';
import type { AnswerReader } from './meter.js';
import { responsesReader } from './responses.js';

/** The reader of each answer format. */
export const READERS: Readonly<Record<AnswerFormat, AnswerReader>> = {
  chat: choicesReader('delta', 'message'),
  completion: choicesReader('text', 'text'),
  message: messagesReader,
  response: responsesReader,
  embedding: plainReader(readEmbeddings),
  token_count: plainReader(readTokenCount),
};

/** Of a format that is never streamed: its endpoints have no field that asks for a stream. */
function plainReader(readPlain: AnswerReader['readPlain']): AnswerReader {
  return {
    readPlain,
    streamMeter: () => {
      throw new TypeError('answers of this format are never streamed');
    },
    cutEndsNormally: false,
  };
}
