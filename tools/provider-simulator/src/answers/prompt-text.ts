import type { JsonObject } from './answer.js';

/** Returns the characters of text in a message's content: a string, or all parts with a `text`. */
export function contentCharacters(content: unknown): number {
  if (typeof content === 'string') return content.length;
  if (!Array.isArray(content)) return 0;
  let characters = 0;
  for (const part of content) characters += typeof part === 'string' ? part.length : textOf(part).length;
  return characters;
}

/**
 * Returns the characters of all messages and the text of the last message with role `user` (else of
 * the last one).
 */
export function measureMessages(messages: readonly unknown[]): { promptCharacters: number; lastText: string } {
  let promptCharacters = 0;
  let last: unknown = undefined;
  let lastIsUser = false;
  for (const message of messages) {
    if (typeof message !== 'object' || message === null) continue;
    const { content, role } = message as JsonObject;
    promptCharacters += contentCharacters(content);
    if (role === 'user' || !lastIsUser) {
      last = content;
      lastIsUser = role === 'user';
    }
  }
  return { promptCharacters, lastText: firstText(last) };
}

/** Returns the first text of a message's content. */
export function firstText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  for (const part of content) {
    const text = typeof part === 'string' ? part : textOf(part);
    if (text !== '') return text;
  }
  return '';
}

/**
 * Returns the field as an integer of at least 1; undefined for null or an absent field, `'wrong'`
 * for anything else.
 */
export function positiveInteger(body: JsonObject, field: string): number | 'wrong' | undefined {
  const value = body[field];
  if (value === undefined || value === null) return undefined;
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 ? value : 'wrong';
}

function textOf(part: unknown): string {
  if (typeof part !== 'object' || part === null) return '';
  const text = (part as JsonObject)['text'];
  return typeof text === 'string' ? text : '';
}
