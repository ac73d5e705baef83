export { chatCompletionRequest } from './requests.js';
export { chatError, gatewayConfig, messagesError, modelList, usageObject } from './answers.js';
export type { GatewayConfig, ModelList, ModelListEntry, UsageObject } from './answers.js';
