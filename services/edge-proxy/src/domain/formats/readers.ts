import type { AnswerFormat } from '../endpoints.js';
import { chatCutEnding, chatStreamMeter, readPlainChat } from './chat.js';
import type { AnswerReader } from './meter.js';

/** The reader of each answer format. */
export const READERS: Readonly<Record<AnswerFormat, AnswerReader>> = {
  chat: { streamMeter: chatStreamMeter, readPlain: readPlainChat, cutEnding: chatCutEnding },
};
