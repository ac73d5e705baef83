// What `deploy/verify/simulation` runs of this service without its adapters.
export { handleModelCall } from './call/handle-model-call.js';
export { EDGE_FIELDS } from './config.js';
export { ENDPOINT_TABLE } from './domain/endpoints.js';
export { parseCall } from './domain/request/parse-call.js';
export { joinVerbs, type EdgeAdapters, type JoinedVerbs } from './join-verbs.js';
export type {
  AdmissionBatch,
  AdmissionBatchAnswer,
  BodyRead,
  BusClient,
  ClientAnswer,
  ClientHeaders,
  ClientRequest,
  SourceExchange,
  SourceReader,
  SourceRequest,
  SourceSender,
} from './ports.js';
