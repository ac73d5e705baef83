export declare const ROOMS: readonly string[];
export declare function selectRooms(words: readonly string[], rooms?: readonly string[]): string[];
