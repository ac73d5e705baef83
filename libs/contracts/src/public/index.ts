export { chatError, gatewayConfig, messagesError, modelList, tokenCount, usageObject } from './answers.js';
export type { GatewayConfig, ModelList, ModelListEntry, TokenPricing, UsageObject } from './answers.js';
export { OPENAPI_VERSION, openApiDocument } from './openapi.js';
export {
  chatCompletionRequest,
  completionRequest,
  embeddingsRequest,
  messagesRequest,
  responsesRequest,
  tokenCountRequest,
} from './requests.js';
