export { catalogueEntry, ERROR_CATALOGUE } from './catalogue.js';
export type { ChatErrorType, ErrorCode, MessagesErrorType, RetryAdvice } from './catalogue.js';
export { chatErrorBody, chatErrorObject, errorHeaders, messagesErrorBody } from './envelope.js';
export { gatewayError } from './gateway-error.js';
export type { GatewayError, GatewayErrorOptions } from './gateway-error.js';
export { codeOfRow, REFUSAL_ROWS, refusalError } from './refusals.js';
export type { ErrorContext } from './refusals.js';
