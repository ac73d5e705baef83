export { findCatalogueEntry as catalogueEntry, ERROR_CATALOGUE } from './catalogue.js';
export type { ChatErrorType, ErrorCode, MessagesErrorType, RetryAdvice } from './catalogue.js';
export { chatErrorBody, chatErrorObject, errorHeaders, messagesErrorBody } from './envelope.js';
export { createGatewayError as gatewayError } from './gateway-error.js';
export type { GatewayError, GatewayErrorOptions } from './gateway-error.js';
export { REFUSAL, REFUSAL_RANKS } from './refusal-ranks.js';
export type { RefusalCode, RefusalRank } from './refusal-ranks.js';
export { findCode as codeOfRank, createRefusalError as refusalError } from './refusals.js';
export type { ErrorContext } from './refusals.js';
