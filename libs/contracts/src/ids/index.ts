export {
  DEFAULT_KEY_PREFIX,
  digestOfSecret,
  hasKeyForm,
  makeSecret,
  maskSecret,
  SECRET_BODY_CHARS,
  secretFrom,
} from './key-form.js';
export {
  bucketOfAccount,
  BUCKETS_TOTAL,
  SHARDS_TOTAL,
  shardOfAccount,
  shardOfBucket,
  USAGE_GROUPS_TOTAL,
  usageGroupOfShard,
} from './bucket.js';
export { isLaterRun as isLater } from './later-run.js';
export { digestOfMailToken, makeMailToken } from './key-form.js';
export { shortHash } from './key-form.js';
export { makeUuidV7, timeOfUuidV7 } from './uuid-v7.js';
export { UUID_PATTERN } from './uuid-pattern.js';
