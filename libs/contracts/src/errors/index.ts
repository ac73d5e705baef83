export { ERROR_CATALOGUE } from './catalogue.js';
export type { ErrorCode } from './catalogue.js';
export { chatErrorBody, chatErrorObject, errorHeaders, messagesErrorBody } from './envelope.js';
export type { ErrorContext } from './error-entry.js';
export { createGatewayError as gatewayError, createRefusalError as refusalError } from './gateway-error.js';
export type { GatewayError } from './gateway-error.js';
export { ADMISSION_REFUSAL_CODES, BODY_REFUSAL_CODES, REFUSAL_CODES, isBefore } from './refusals.js';
export type { RefusalCode } from './refusals.js';
