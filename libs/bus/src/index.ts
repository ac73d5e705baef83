export type {
  AnyPublished,
  AnyRequest,
  AnyStored,
  BucketHead,
  BucketMirror,
  BucketSwap,
  Bus,
  BusLog,
  BusOptions,
  ConsumeOptions,
  BucketEntry,
  LookUpBucket,
  LookUpSettings,
  RequestOptions,
  ServeOptions,
  StoredDelivery,
  StoredMessage,
  StreamSettings,
  StreamState,
  SubscribeOptions,
  Words,
} from './bus.js';
export { BusFault } from './bus-fault.js';
export { connectBus } from './connect-bus.js';
export { mirrorCatalog } from './buckets/mirror-catalog.js';
export { requestServer, type HandlerFault, type RequestServerOptions } from './requests/request-server.js';
export {
  natsAuthorization,
  natsPermissions,
  computePermissions as permissionsOf,
  type BucketPermissions,
  type Permissions,
} from './permissions.js';
export { MESSAGE_BYTES_MAX } from './wire.js';
export { tailBus, type TailedMessage } from './tail.js';
