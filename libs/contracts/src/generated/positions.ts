// Written by `npm run schemas`: the positions of packed messages, in the order of their schemas' fields.
/* eslint-disable */
type Packed = any;

const E1: Packed = ["session_5h","weekly","monthly"];
const E1_AT: Packed = new Map(E1.map((v: Packed, i: number) => [v, i]));
const E2: Packed = ["usd","requests"];
const E2_AT: Packed = new Map(E2.map((v: Packed, i: number) => [v, i]));
const E3: Packed = ["ok","void"];
const E3_AT: Packed = new Map(E3.map((v: Packed, i: number) => [v, i]));
const E4: Packed = ["lookup_failed","admission_error","catalog_error","usage_unavailable"];
const E4_AT: Packed = new Map(E4.map((v: Packed, i: number) => [v, i]));
const E5: Packed = ["settled","voided","expired"];
const E5_AT: Packed = new Map(E5.map((v: Packed, i: number) => [v, i]));
const E6: Packed = ["/v1/chat/completions","/v1/completions","/v1/messages","/v1/messages/count_tokens","/v1/embeddings","/v1/responses"];
const E6_AT: Packed = new Map(E6.map((v: Packed, i: number) => [v, i]));
const E7: Packed = ["reported","estimated","none"];
const E7_AT: Packed = new Map(E7.map((v: Packed, i: number) => [v, i]));
const E8: Packed = ["completed","rejected","unreachable","timed_out","broken","abandoned"];
const E8_AT: Packed = new Map(E8.map((v: Packed, i: number) => [v, i]));

/** 0 input, 1 cachedInput, 2 cacheWrite, 3 cacheWrite1h, 4 output */
export const packTokenUsage = (o: Packed): Packed => [o.input, o.cachedInput, o.cacheWrite, o.cacheWrite1h, o.output];
export const unpackTokenUsage = (a: Packed): Packed => ({ input: a[0], cachedInput: a[1], cacheWrite: a[2], cacheWrite1h: a[3], output: a[4] });

/** 0 version, 1 figures */
export const packPricedVersion = (o: Packed): Packed => [o.version, [o.figures.inputPerMillion, o.figures.cachedInputPerMillion, o.figures.cacheWritePerMillion, o.figures.cacheWrite1hPerMillion, o.figures.outputPerMillion, o.figures.perCall, o.figures.tiers.map((x1: Packed) => [x1.aboveInputTokens, x1.inputPerMillion, x1.cachedInputPerMillion, x1.cacheWritePerMillion, x1.cacheWrite1hPerMillion, x1.outputPerMillion])]];
export const unpackPricedVersion = (a: Packed): Packed => ({ version: a[0], figures: ({ inputPerMillion: a[1][0], cachedInputPerMillion: a[1][1], cacheWritePerMillion: a[1][2], cacheWrite1hPerMillion: a[1][3], outputPerMillion: a[1][4], perCall: a[1][5], tiers: a[1][6].map((x2: Packed) => ({ aboveInputTokens: x2[0], inputPerMillion: x2[1], cachedInputPerMillion: x2[2], cacheWritePerMillion: x2[3], cacheWrite1hPerMillion: x2[4], outputPerMillion: x2[5] })) }) });

/** 0 account, 1 key, 2 member, 3 model, 4 priceVersion, 5 worstNanoUsd, 6 planMaxNanoUsd, 7 walletMaxNanoUsd, 8 periods, 9 windows, 10 allotment, 11 admittedAt */
export const packHoldFields = (o: Packed): Packed => [o.account, o.key, o.member, o.model, o.priceVersion, o.worstNanoUsd, o.planMaxNanoUsd, o.walletMaxNanoUsd, [o.periods.month, o.periods.session5h, o.periods.weekly, (o.periods.subscription === null ? null : [o.periods.subscription.id, o.periods.subscription.start, o.periods.subscription.end])], o.windows.map((x3: Packed) => [E1_AT.get(x3.type), E2_AT.get(x3.unit)]), (o.allotment === null ? null : E2_AT.get(o.allotment)), o.admittedAt];
export const unpackHoldFields = (a: Packed): Packed => ({ account: a[0], key: a[1], member: a[2], model: a[3], priceVersion: a[4], worstNanoUsd: a[5], planMaxNanoUsd: a[6], walletMaxNanoUsd: a[7], periods: ({ month: a[8][0], session5h: a[8][1], weekly: a[8][2], subscription: (a[8][3] === null ? null : ({ id: a[8][3][0], start: a[8][3][1], end: a[8][3][2] })) }), windows: a[9].map((x4: Packed) => ({ type: E1[x4[0]], unit: E2[x4[1]] })), allotment: (a[10] === null ? null : E2[a[10]]), admittedAt: a[11] });

/** 0 false: 1 id, 2 hold, 3 tag, 4 outcome, 5 amountNanoUsd; 1 true: 1 id, 2 digests */
export const packReleaseEntry = (o: Packed): Packed => o.blind === false ? [0, o.id, packHoldFields(o.hold), o.tag, E3_AT.get(o.outcome), o.amountNanoUsd] : o.blind === true ? [1, o.id, o.digests] : null;
export const unpackReleaseEntry = (a: Packed): Packed => a[0] === 0 ? { blind: false, id: a[1], hold: unpackHoldFields(a[2]), tag: a[3], outcome: E3[a[4]], amountNanoUsd: a[5] } : a[0] === 1 ? { blind: true, id: a[1], digests: a[2] } : null;

/** 0 admitted: 1 id, 2 account, 3 bucket, 4 token, 5 hold, 6 price, 7 sources, 8 repeated, 9 roomLeft; 1 opened: 1 id, 2 account, 3 bucket, 4 token; 2 refused: 1 id, 2 row, 3 facts; 3 gone: 1 id; 4 fault: 1 id, 2 code, 3 mayHold */
export const packBatchAnswer = (o: Packed): Packed => o.kind === "admitted" ? [0, o.id, o.account, o.bucket, o.token, (o.hold === null ? null : packHoldFields(o.hold)), (o.price === null ? null : packPricedVersion(o.price)), o.sources, o.repeated ? 1 : 0, o.roomLeft === undefined ? null : o.roomLeft] : o.kind === "opened" ? [1, o.id, o.account, o.bucket, o.token] : o.kind === "refused" ? [2, o.id, o.row, o.facts] : o.kind === "gone" ? [3, o.id] : o.kind === "fault" ? [4, o.id, E4_AT.get(o.code), o.mayHold === undefined ? null : o.mayHold ? 1 : 0] : null;
export const unpackBatchAnswer = (a: Packed): Packed => a[0] === 0 ? { kind: "admitted", id: a[1], account: a[2], bucket: a[3], token: a[4], hold: (a[5] === null ? null : unpackHoldFields(a[5])), price: (a[6] === null ? null : unpackPricedVersion(a[6])), sources: a[7], repeated: a[8] === 1 ? true : a[8] === 0 ? false : null, roomLeft: a[9] === null || a[9] === undefined ? undefined : a[9] } : a[0] === 1 ? { kind: "opened", id: a[1], account: a[2], bucket: a[3], token: a[4] } : a[0] === 2 ? { kind: "refused", id: a[1], row: a[2], facts: a[3] } : a[0] === 3 ? { kind: "gone", id: a[1] } : a[0] === 4 ? { kind: "fault", id: a[1], code: E4[a[2]], mayHold: a[3] === null || a[3] === undefined ? undefined : a[3] === 1 ? true : a[3] === 0 ? false : null } : null;

/** 0 id, 1 rank, 2 outcome, 3 hold, 4 endpoint, 5 streamed, 6 startedAt, 7 endedAt, 8 firstByteAt, 9 status, 10 source, 11 usage, 12 evidence, 13 price, 14 amountNanoUsd, 15 attempts, 16 traceparent */
export const packUsageEvent = (o: Packed): Packed => [o.id, o.rank, E5_AT.get(o.outcome), packHoldFields(o.hold), (o.endpoint === null ? null : E6_AT.get(o.endpoint)), o.streamed ? 1 : 0, o.startedAt, o.endedAt, o.firstByteAt, o.status, o.source, (o.usage === null ? null : packTokenUsage(o.usage)), E7_AT.get(o.evidence), (o.price === null ? null : packPricedVersion(o.price)), o.amountNanoUsd, o.attempts.map((x9: Packed) => [x9.source, x9.provider, E8_AT.get(x9.outcome), x9.status, x9.possiblyPaid ? 1 : 0, (x9.usage === null ? null : packTokenUsage(x9.usage)), (x9.cost === null ? null : packPricedVersion(x9.cost))]), o.traceparent === undefined ? null : o.traceparent];
export const unpackUsageEvent = (a: Packed): Packed => ({ id: a[0], rank: a[1], outcome: E5[a[2]], hold: unpackHoldFields(a[3]), endpoint: (a[4] === null ? null : E6[a[4]]), streamed: a[5] === 1 ? true : a[5] === 0 ? false : null, startedAt: a[6], endedAt: a[7], firstByteAt: a[8], status: a[9], source: a[10], usage: (a[11] === null ? null : unpackTokenUsage(a[11])), evidence: E7[a[12]], price: (a[13] === null ? null : unpackPricedVersion(a[13])), amountNanoUsd: a[14], attempts: a[15].map((x10: Packed) => ({ source: x10[0], provider: x10[1], outcome: E8[x10[2]], status: x10[3], possiblyPaid: x10[4] === 1 ? true : x10[4] === 0 ? false : null, usage: (x10[5] === null ? null : unpackTokenUsage(x10[5])), cost: (x10[6] === null ? null : unpackPricedVersion(x10[6])) })), traceparent: a[16] === null || a[16] === undefined ? undefined : a[16] });

/** 0 version, 1 edge, 2 opens, 3 admits, 4 releases */
export const packAdmissionBatch = (o: Packed, version: number): Packed => [version, o.edge, o.opens.map((x11: Packed) => [x11.id, x11.digests, x11.traceparent === undefined ? null : x11.traceparent]), o.admits.map((x13: Packed) => [x13.id, x13.digests, E6_AT.get(x13.endpoint), x13.model, (x13.bounds === null ? null : [x13.bounds.promptBytes, x13.bounds.arrayElements, x13.bounds.attachments, x13.bounds.outputTokensMax]), x13.bodyRefusal, x13.opened ? 1 : 0, x13.traceparent === undefined ? null : x13.traceparent]), o.releases.map((x15: Packed) => packReleaseEntry(x15))];
export const unpackAdmissionBatch = (a: Packed): Packed => ({ edge: a[1], opens: a[2].map((x16: Packed) => ({ id: x16[0], digests: x16[1], traceparent: x16[2] === null || x16[2] === undefined ? undefined : x16[2] })), admits: a[3].map((x18: Packed) => ({ id: x18[0], digests: x18[1], endpoint: E6[x18[2]], model: x18[3], bounds: (x18[4] === null ? null : ({ promptBytes: x18[4][0], arrayElements: x18[4][1], attachments: x18[4][2], outputTokensMax: x18[4][3] })), bodyRefusal: x18[5], opened: x18[6] === 1 ? true : x18[6] === 0 ? false : null, traceparent: x18[7] === null || x18[7] === undefined ? undefined : x18[7] })), releases: a[4].map((x20: Packed) => unpackReleaseEntry(x20)) });

/** 0 version, 1 replica, 2 now, 3 answers, 4 released */
export const packAdmissionBatchAnswer = (o: Packed, version: number): Packed => [version, o.replica, o.now, o.answers.map((x21: Packed) => packBatchAnswer(x21)), o.released];
export const unpackAdmissionBatchAnswer = (a: Packed): Packed => ({ replica: a[1], now: a[2], answers: a[3].map((x23: Packed) => unpackBatchAnswer(x23)), released: a[4] });

/** 0 version, 1 events */
export const packUsageEvents = (o: Packed, version: number): Packed => [version, o.events.map((x25: Packed) => packUsageEvent(x25))];
export const unpackUsageEvents = (a: Packed): Packed => ({ events: a[1].map((x26: Packed) => unpackUsageEvent(x26)) });
