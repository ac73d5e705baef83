import type { ErrorClass } from '../src/errors/error-class.js';

/** An error of a real provider, copied from public documentation or a public report. */
export interface ProviderErrorCase {
  readonly provider: string;
  /** Where it is published. */
  readonly from: string;
  readonly status: number | null;
  readonly body: unknown;
  /** `x-amzn-errortype`. */
  readonly errorType?: string;
  readonly class: ErrorClass;
  /** Set if no client request can cause the error. */
  readonly certain?: true;
}

/** The model name of the sources in these cases. */
export const UPSTREAM_MODEL = 'model-x';

const openai = (message: string, type: string, code: string | null, param: string | null = null) => ({
  error: { message, type, param, code },
});
const anthropic = (type: string, message: string) => ({ type: 'error', error: { type, message }, request_id: 'req_1' });
const gemini = (code: number, status: string, message: string, reason?: string) => [
  {
    error: {
      code,
      message,
      status,
      details: reason === undefined ? [] : [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason }],
    },
  },
];

const OPENAI = 'platform.openai.com/docs/guides/error-codes';
const ANTHROPIC = 'docs.anthropic.com/en/api/errors';
const AZURE = 'learn.microsoft.com/azure/ai-services/openai/concepts/content-filter and /how-to/troubleshoot';
const GEMINI = 'ai.google.dev/gemini-api/docs/troubleshooting';
const BEDROCK = 'docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html';
const OPENROUTER = 'openrouter.ai/docs/api/reference/errors-and-debugging';
const DEEPSEEK = 'api-docs.deepseek.com/quick_start/error_codes';
const GROQ = 'console.groq.com/docs/errors';
const MINIMAX = 'platform.minimax.io/docs/api-reference/errorcode';

export const PROVIDER_ERRORS: readonly ProviderErrorCase[] = [
  {
    provider: 'OpenAI, a wrong key',
    from: OPENAI,
    status: 401,
    body: openai('Incorrect API key provided: sk-proj-****abcd.', 'invalid_request_error', 'invalid_api_key'),
    class: 'credential',
    certain: true,
  },
  {
    provider: 'OpenAI, no credit left',
    from: OPENAI,
    status: 429,
    body: openai(
      'You exceeded your current quota, please check your plan.',
      'insufficient_quota',
      'insufficient_quota',
    ),
    class: 'funds',
    certain: true,
  },
  {
    provider: 'OpenAI, a rate limit',
    from: OPENAI,
    status: 429,
    body: openai(
      'Rate limit reached for model-x in organization org-a1 on tokens per min (TPM)',
      'tokens',
      'rate_limit_exceeded',
    ),
    class: 'quota',
  },
  {
    provider: 'OpenAI, a rate limit inside a stream',
    from: 'github.com/openai/codex/issues/10061',
    status: null,
    body: {
      type: 'response.failed',
      response: { id: 'resp_1', error: { code: 'rate_limit_exceeded', message: 'Rate limit reached for model-x' } },
    },
    class: 'quota',
  },
  {
    provider: 'OpenAI, an unknown model',
    from: OPENAI,
    status: 404,
    body: openai(
      'The model `model-x` does not exist or you do not have access to it.',
      'invalid_request_error',
      'model_not_found',
    ),
    class: 'model',
    certain: true,
  },
  {
    provider: 'OpenAI, a model that a tool of the request names',
    from: OPENAI,
    status: 404,
    body: openai(
      'The model `model-x-mini` does not exist.',
      'invalid_request_error',
      'model_not_found',
      'tools[0].model',
    ),
    class: 'model',
  },
  {
    provider: 'OpenAI, a project without the model',
    from: OPENAI,
    status: 403,
    body: openai(
      'Project `proj_a1` does not have access to model `model-x`',
      'invalid_request_error',
      'model_not_found',
    ),
    class: 'model',
    certain: true,
  },
  {
    provider: 'OpenAI, a region',
    from: OPENAI,
    status: 403,
    body: openai(
      'Country, region, or territory not supported',
      'request_forbidden',
      'unsupported_country_region_territory',
    ),
    class: 'forbidden',
  },
  {
    provider: 'OpenAI, an item that was not stored',
    from: 'github.com/vercel/ai/issues/7543',
    status: 404,
    body: openai(
      "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
      'invalid_request_error',
      null,
      'input',
    ),
    class: 'item',
  },
  {
    provider: 'OpenAI, an earlier response of another account',
    from: 'platform.openai.com/docs/guides/conversation-state',
    status: 400,
    body: openai(
      "Previous response with id 'resp_1' not found.",
      'invalid_request_error',
      'previous_response_not_found',
    ),
    class: 'item',
  },
  {
    provider: 'OpenAI, a prompt against its policy',
    from: 'platform.openai.com/docs/guides/reasoning',
    status: 400,
    body: openai(
      'Invalid prompt: your prompt was flagged as potentially violating our usage policy.',
      'invalid_request_error',
      'invalid_prompt',
    ),
    class: 'content',
  },
  {
    provider: 'OpenAI, too long',
    from: OPENAI,
    status: 400,
    body: openai(
      "This model's maximum context length is 8192 tokens.",
      'invalid_request_error',
      'context_length_exceeded',
      'messages',
    ),
    class: 'body',
  },
  {
    provider: 'OpenAI, too long, inside a stream',
    from: OPENAI,
    status: null,
    body: openai(
      'Your input exceeds the context window of this model.',
      'invalid_request_error',
      'context_length_exceeded',
    ),
    class: 'body',
  },
  {
    provider: 'OpenAI, a fault',
    from: OPENAI,
    status: 500,
    body: openai('The server had an error', 'server_error', null),
    class: 'overload',
  },
  {
    provider: 'Anthropic, a wrong key',
    from: ANTHROPIC,
    status: 401,
    body: anthropic('authentication_error', 'invalid x-api-key'),
    class: 'credential',
    certain: true,
  },
  {
    provider: 'Anthropic, no credit left',
    from: 'github.com/anthropics/claude-code/issues (credit balance is too low)',
    status: 400,
    body: anthropic(
      'invalid_request_error',
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.',
    ),
    class: 'funds',
    certain: true,
  },
  {
    provider: 'Anthropic, an unknown model',
    from: ANTHROPIC,
    status: 404,
    body: anthropic('not_found_error', 'model: model-x'),
    class: 'model',
    certain: true,
  },
  {
    provider: 'Anthropic, an unknown file',
    from: ANTHROPIC,
    status: 404,
    body: anthropic('not_found_error', 'File not found: file_1'),
    class: 'item',
  },
  {
    provider: 'Anthropic, no permission',
    from: ANTHROPIC,
    status: 403,
    body: anthropic('permission_error', 'You may not use the specified resource.'),
    class: 'forbidden',
  },
  {
    provider: 'Anthropic, overload in a stream',
    from: ANTHROPIC,
    status: null,
    body: anthropic('overloaded_error', 'Overloaded'),
    class: 'overload',
  },
  {
    provider: 'Anthropic, a rate limit in a stream',
    from: ANTHROPIC,
    status: null,
    body: anthropic('rate_limit_error', 'Number of request tokens'),
    class: 'quota',
  },
  {
    provider: 'Anthropic, output that its filter blocked',
    from: 'github.com/anthropics/claude-code/issues (content filtering policy)',
    status: 400,
    body: anthropic('invalid_request_error', 'Output blocked by content filtering policy'),
    class: 'content',
  },
  {
    provider: 'Anthropic, too large',
    from: ANTHROPIC,
    status: 413,
    body: anthropic('request_too_large', 'Request exceeds the maximum size'),
    class: 'body',
  },
  {
    provider: 'Azure, its content filter',
    from: AZURE,
    status: 400,
    body: {
      error: {
        message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        type: null,
        param: 'prompt',
        code: 'content_filter',
        status: 400,
        innererror: {
          code: 'ResponsibleAIPolicyViolation',
          content_filter_result: { hate: { filtered: true, severity: 'high' } },
        },
      },
    },
    class: 'content',
  },
  {
    provider: 'Azure, no such deployment',
    from: AZURE,
    status: 404,
    body: { error: { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' } },
    class: 'model',
    certain: true,
  },
  {
    provider: 'Azure, a wrong key',
    from: AZURE,
    status: 401,
    body: { statusCode: 401, message: 'Access denied due to invalid subscription key or wrong API endpoint.' },
    class: 'credential',
    certain: true,
  },
  {
    provider: 'Azure, a wrong path',
    from: AZURE,
    status: 404,
    body: { error: { code: '404', message: 'Resource not found' } },
    class: 'not_found',
  },
  {
    provider: 'Gemini, a wrong key',
    from: 'github.com/continuedev/continue/issues/10290',
    status: 400,
    body: gemini(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', 'API_KEY_INVALID'),
    class: 'credential',
    certain: true,
  },
  {
    provider: 'Gemini, a rate limit',
    from: GEMINI,
    status: 429,
    body: gemini(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.'),
    class: 'quota',
  },
  {
    provider: 'Gemini, an unknown model',
    from: GEMINI,
    status: 404,
    body: gemini(404, 'NOT_FOUND', 'models/model-x is not found for API version v1main'),
    class: 'model',
    certain: true,
  },
  {
    provider: 'Gemini, a wrong field',
    from: 'github.com/jackmpcollins/magentic/pull/382',
    status: 400,
    body: gemini(400, 'INVALID_ARGUMENT', 'Unknown name "parallel_tool_calls"'),
    class: 'body',
  },
  {
    provider: 'Gemini, overload',
    from: GEMINI,
    status: 503,
    body: gemini(503, 'UNAVAILABLE', 'The model is overloaded.'),
    class: 'overload',
  },
  {
    provider: 'Mistral, a wrong field',
    from: 'github.com/editor-code-assistant/eca/issues/231',
    status: 422,
    body: {
      object: 'error',
      message: {
        detail: [
          { type: 'extra_forbidden', loc: ['body', 'max_completion_tokens'], msg: 'Extra inputs are not permitted' },
        ],
      },
      type: 'invalid_request_error',
      param: null,
      code: null,
    },
    class: 'body',
  },
  {
    provider: 'Mistral, a wrong key',
    from: 'github.com/agent0ai/agent-zero/issues/539',
    status: 401,
    body: { detail: 'Unauthorized' },
    class: 'credential',
    certain: true,
  },
  {
    provider: 'Mistral, an unknown model',
    from: 'docs.mistral.ai/api',
    status: 400,
    body: { object: 'error', message: 'Invalid model: model-x', type: 'invalid_model', param: null, code: '1500' },
    class: 'model',
    certain: true,
  },
  {
    provider: 'DeepSeek, no balance',
    from: DEEPSEEK,
    status: 402,
    body: openai('Insufficient Balance', 'unknown_error', 'invalid_request_error'),
    class: 'funds',
    certain: true,
  },
  {
    provider: 'DeepSeek, a wrong key',
    from: DEEPSEEK,
    status: 401,
    body: openai('Authentication Fails (no such user)', 'authentication_error', 'invalid_request_error'),
    class: 'credential',
    certain: true,
  },
  {
    provider: 'DeepSeek, a moderated prompt',
    from: DEEPSEEK,
    status: 400,
    body: openai('Content Exists Risk', 'invalid_request_error', null),
    class: 'content',
  },
  {
    provider: 'OpenRouter, no credits',
    from: OPENROUTER,
    status: 402,
    body: { error: { code: 402, message: 'Insufficient credits' } },
    class: 'funds',
    certain: true,
  },
  {
    provider: 'OpenRouter, a moderated prompt',
    from: OPENROUTER,
    status: 403,
    body: {
      error: {
        code: 403,
        message: 'Your input was not accepted',
        metadata: { reasons: ['violence'], flagged_input: '…' },
      },
    },
    class: 'content',
  },
  {
    provider: 'OpenRouter, a limit in a 200',
    from: 'github.com/BerriAI/litellm/pull/21755',
    status: null,
    body: { error: { code: 429, message: 'Provider returned error' } },
    class: 'quota',
  },
  {
    provider: 'OpenRouter, no endpoint for the model',
    from: OPENROUTER,
    status: 404,
    body: { error: { code: 404, message: 'No endpoints found for model-x.' } },
    class: 'model',
    certain: true,
  },
  {
    provider: 'xAI, no credits',
    from: 'github.com/griptape-ai/griptape-nodes-engine/issues/1079',
    status: 403,
    body: {
      code: 'The caller does not have permission to execute the specified operation',
      error: "Your newly created teams doesn't have any credits yet.",
    },
    class: 'funds',
    certain: true,
  },
  {
    provider: 'xAI, its spending limit',
    from: 'github.com/continuedev/continue/issues/10373',
    status: 429,
    body: {
      code: 'Some resource has been exhausted',
      error:
        'Your team 16f2151a-40f4-4a80-8ad0-cae00c27e8dd has either used all available credits or reached its monthly spending limit.',
    },
    class: 'funds',
    certain: true,
  },
  {
    provider: 'xAI, a wrong key',
    from: 'github.com/continuedev/continue/issues/10778',
    status: 400,
    body: { code: 'Client specified an invalid argument', error: 'Incorrect API key provided: na***ys.' },
    class: 'credential',
    certain: true,
  },
  {
    provider: 'Groq, a model that was retired',
    from: GROQ,
    status: 400,
    body: openai('The model `model-x` has been decommissioned', 'invalid_request_error', 'model_decommissioned'),
    class: 'model',
    certain: true,
  },
  {
    provider: 'Groq, too many tokens for its minute',
    from: GROQ,
    status: 413,
    body: openai('Request too large for model `model-x`', 'tokens', 'rate_limit_exceeded'),
    class: 'body',
  },
  {
    provider: 'Bedrock, throttled',
    from: BEDROCK,
    status: 429,
    body: { message: 'Too many requests' },
    errorType: 'ThrottlingException:http://internal.amazon.com/',
    class: 'quota',
  },
  {
    provider: 'Bedrock, no access to the model',
    from: BEDROCK,
    status: 403,
    body: { message: "You don't have access to the model with the specified model ID." },
    errorType: 'AccessDeniedException',
    class: 'model',
  },
  {
    provider: 'Bedrock, an expired token',
    from: BEDROCK,
    status: 403,
    body: { message: 'The security token included in the request is expired' },
    errorType: 'ExpiredTokenException',
    class: 'credential',
    certain: true,
  },
  {
    provider: 'Bedrock, a wrong body',
    from: BEDROCK,
    status: 400,
    body: { message: 'Malformed input request' },
    errorType: 'ValidationException',
    class: 'body',
  },
  {
    provider: 'vLLM, an unknown model',
    from: 'docs.vllm.ai (OpenAI-compatible server)',
    status: 404,
    body: {
      object: 'error',
      message: 'The model `model-x` does not exist.',
      type: 'NotFoundError',
      param: null,
      code: 404,
    },
    class: 'model',
    certain: true,
  },
  {
    provider: 'vLLM, a wrong body inside a stream',
    from: 'docs.vllm.ai (OpenAI-compatible server)',
    status: null,
    body: { object: 'error', message: 'too long', type: 'BadRequestError', param: null, code: 400 },
    class: 'body',
  },
  {
    provider: 'FastAPI, a wrong path',
    from: 'fastapi.tiangolo.com/tutorial/handling-errors',
    status: 404,
    body: { detail: 'Not Found' },
    class: 'not_found',
  },
  {
    provider: 'FastAPI, a wrong body',
    from: 'fastapi.tiangolo.com/tutorial/handling-errors',
    status: 422,
    body: { detail: [{ loc: ['body', 'n'], msg: 'value is not a valid integer', type: 'type_error' }] },
    class: 'body',
  },
  {
    provider: 'MiniMax, no balance, in a 200',
    from: MINIMAX,
    status: null,
    body: { choices: null, base_resp: { status_code: 1008, status_msg: 'insufficient balance' } },
    class: 'funds',
    certain: true,
  },
  {
    provider: 'MiniMax, a sensitive prompt, in a 200',
    from: MINIMAX,
    status: null,
    body: { base_resp: { status_code: 1026, status_msg: 'input new_sensitive' } },
    class: 'content',
  },
  {
    provider: 'Cloudflare, a banned user agent',
    from: 'developers.cloudflare.com (error 1010)',
    status: 403,
    body: 'error code: 1010',
    class: 'forbidden',
  },
  {
    provider: 'nginx, a page',
    from: 'nginx.org',
    status: 405,
    body: '<html>405 Not Allowed</html>',
    class: 'unexpected',
  },
];
