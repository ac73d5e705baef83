export { AMOUNT_NANO_USD_MAX, MoneyFormatError, formatUsd, parseUsd } from './money.js';
export type { NanoUsd } from './money.js';
export { convertExtras, convertFigures } from './convert-figures.js';
export { SAMPLINGS_MAX, combineSamplings, rate, selectRecordedCost as recordedCost } from './price.js';
export type { TokenCounts, TokenKinds, TokenUsage } from './price.js';
export { resolvePrices, withHourWrites } from './resolve-prices.js';
export type { ResolvedClass, ResolvedFigures, ResolvedPrices } from './resolve-prices.js';
export {
  EXTRA_CLASSES,
  STANDARD_SERVICE as STANDARD,
  classPrices,
  isPriced,
  unitPrice,
  unpricedName,
} from './price-extras.js';
export type {
  ClassPrices,
  ExtraClass,
  ExtraClassPrices,
  KindPrices,
  PriceClass,
  PriceExtras,
  PriceFigures,
  Served,
  TokenPrices,
} from './price-extras.js';
export {
  BYTES_PER_TOKEN_DEFAULT,
  OUTPUT_TOKENS_DEFAULT,
  boundFigures,
  inputTokensBound,
  leastCost,
  outputTokensMax,
  worstCase,
} from './worst-case.js';
export type { AttachmentSizes, BoundFigures, CallBounds, FileBounds, OutputRequest } from './worst-case.js';
export {
  MINUTE_MS,
  SESSION_5H_MS,
  WEEK_MS,
  minuteOf,
  monthEnd,
  monthOf,
  monthStart,
  secondsLeftInMinute,
  secondsUntil,
  weekStart,
} from './calendar.js';
export { windowResetsAt, windowView } from './windows.js';
export type { Periods, WindowType, WindowUnit } from './windows.js';
export { splitFunding } from './money.js';
export { estimateUsage } from './estimate.js';
export {
  WALLET_ROW,
  allotmentRow,
  keyMonthRow,
  memberMonthRow,
  monthlyWindowRow,
  parseRowName,
  sessionWindowRow,
  weeklyWindowRow,
} from './row-names.js';
export type { RowName } from './row-names.js';
