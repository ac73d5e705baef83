import type { ErrorCode } from '../errors/index.js';
import type { Endpoint } from '../messages/scalars.js';
import { chatError, gatewayConfig, messagesError, modelList, tokenCount, usageObject } from './answers.js';
import {
  chatCompletionRequest,
  completionRequest,
  embeddingsRequest,
  messagesRequest,
  responsesRequest,
  tokenCountRequest,
} from './requests.js';

/** The schemas of the document, by name. */
export const SCHEMAS = {
  ChatCompletionRequest: chatCompletionRequest,
  CompletionRequest: completionRequest,
  MessagesRequest: messagesRequest,
  TokenCountRequest: tokenCountRequest,
  EmbeddingsRequest: embeddingsRequest,
  ResponsesRequest: responsesRequest,
  TokenCount: tokenCount,
  ModelList: modelList,
  Usage: usageObject,
  GatewayConfig: gatewayConfig,
  ChatError: chatError,
  MessagesError: messagesError,
} as const;
export type SchemaName = keyof typeof SCHEMAS;

/** An endpoint that calls a model. */
export interface Operation {
  readonly summary: string;
  readonly request: SchemaName;
  /** Null: the provider's own format, passed through. */
  readonly answer: SchemaName | null;
  readonly streams: boolean;
  readonly error: 'ChatError' | 'MessagesError';
}

export const CALLS: Readonly<Record<Endpoint, Operation>> = {
  '/v1/chat/completions': {
    summary: 'Chat completion',
    request: 'ChatCompletionRequest',
    answer: null,
    streams: true,
    error: 'ChatError',
  },
  '/v1/completions': {
    summary: 'Legacy completion, for models whose provider still serves it',
    request: 'CompletionRequest',
    answer: null,
    streams: true,
    error: 'ChatError',
  },
  '/v1/messages': {
    summary: 'Message',
    request: 'MessagesRequest',
    answer: null,
    streams: true,
    error: 'MessagesError',
  },
  '/v1/messages/count_tokens': {
    summary: 'Count the input tokens of a message; not billed',
    request: 'TokenCountRequest',
    answer: 'TokenCount',
    streams: false,
    error: 'MessagesError',
  },
  '/v1/embeddings': {
    summary: 'Embeddings, for embedding models',
    request: 'EmbeddingsRequest',
    answer: null,
    streams: false,
    error: 'ChatError',
  },
  '/v1/responses': {
    summary: "Response, where the model's provider supports it",
    request: 'ResponsesRequest',
    answer: null,
    streams: true,
    error: 'ChatError',
  },
};

/** An endpoint that returns data of the gateway. */
export interface List {
  readonly summary: string;
  readonly answer: SchemaName;
  /** Error codes of the endpoint. Null: it is public and needs no key. */
  readonly codes: readonly ErrorCode[] | null;
}

/** Codes that refuse a key, and the code of a failed key look-up. */
const KEY_CODES: readonly ErrorCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'key_inactive',
  'key_expired',
  'account_suspended',
  'lookup_failed',
];

export const LISTS: Readonly<Record<string, List>> = {
  '/v1/models': {
    summary: 'Models that the key may call; not billed, not counted',
    answer: 'ModelList',
    codes: [...KEY_CODES, 'catalog_error'],
  },
  '/v1/gateway/usage': {
    summary: 'Plan windows, wallet and key; not billed, not counted',
    answer: 'Usage',
    codes: [...KEY_CODES, 'usage_unavailable'],
  },
  '/api/gateway/config': { summary: 'Base URLs for clients', answer: 'GatewayConfig', codes: null },
};
