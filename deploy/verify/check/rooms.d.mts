export declare const ROOMS: readonly string[];
export declare function selectTests(
  words: readonly string[],
  lane: 'inner' | 'system',
  rooms?: readonly string[],
): { readonly rooms: string[]; readonly files: string[] };
