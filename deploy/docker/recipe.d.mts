export interface RecipeStep {
  readonly instruction: string;
  readonly text: string;
}
export interface Recipe {
  /** Default of NODE_IMAGE. */
  readonly baseDefault: string;
  readonly stages: readonly { readonly base: string; readonly steps: readonly RecipeStep[] }[];
  /** The JSON of the exec form. */
  readonly entryPoint: string;
}
export function readRecipe(): Recipe;
