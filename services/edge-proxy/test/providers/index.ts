import { ANTHROPIC } from './anthropic.js';
import { AZURE_GROK } from './azure-grok.js';
import { AZURE_OPENAI } from './azure-openai.js';
import { BEDROCK } from './bedrock.js';
import { COHERE } from './cohere.js';
import { DEEPSEEK } from './deepseek.js';
import { FIREWORKS } from './fireworks.js';
import type { ProviderAnswer } from './fixture.js';
import { GEMINI } from './gemini.js';
import { GROQ } from './groq.js';
import { KIMI } from './kimi.js';
import { MISTRAL } from './mistral.js';
import { OLLAMA } from './ollama.js';
import { OPENAI } from './openai.js';
import { OPENROUTER } from './openrouter.js';
import { PERPLEXITY } from './perplexity.js';
import { TOGETHER } from './together.js';
import { VLLM } from './vllm.js';
import { XAI } from './xai.js';

export const PROVIDER_ANSWERS: readonly ProviderAnswer[] = [
  ...OPENAI,
  ...AZURE_OPENAI,
  ...AZURE_GROK,
  ...XAI,
  ...GEMINI,
  ...ANTHROPIC,
  ...BEDROCK,
  ...DEEPSEEK,
  ...MISTRAL,
  ...KIMI,
  ...GROQ,
  ...TOGETHER,
  ...FIREWORKS,
  ...OPENROUTER,
  ...PERPLEXITY,
  ...COHERE,
  ...VLLM,
  ...OLLAMA,
];
