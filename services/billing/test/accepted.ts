/** Returns a successful answer; throws if it is a refusal. */
export function expectAccepted<T extends object>(answer: T): Exclude<T, { refused: unknown }> {
  if ('refused' in answer) throw new Error(`refused: ${JSON.stringify(answer)}`);
  return answer as Exclude<T, { refused: unknown }>;
}
