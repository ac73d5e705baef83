import type { Endpoint } from './answer.js';
import { chat } from './chat.js';
import { completions } from './completions.js';
import { embeddings } from './embeddings.js';
import { countTokens, messages } from './messages.js';
import { responses } from './responses.js';

const byPath: Record<string, Endpoint> = {
  '/chat/completions': chat,
  '/completions': completions,
  '/messages': messages,
  '/messages/count_tokens': countTokens,
  '/responses': responses,
  '/embeddings': embeddings,
};

const endpoints = new Map(
  Object.entries(byPath).flatMap(([path, endpoint]) => [
    [path, endpoint],
    [`/v1${path}`, endpoint],
  ]),
);

/** Returns the endpoint of a path without query, with or without `/v1`. */
export function findEndpoint(path: string): Endpoint | undefined {
  return endpoints.get(path);
}
