import type { ProviderProfile } from '@gateway/contracts/operator';

export const FOUNDRY_ANTHROPIC: ProviderProfile = {
  id: 'foundry-anthropic',
  name: 'Claude in Microsoft Foundry',
  checked: '2026-11-23',
  documentation: 'https://platform.claude.com/docs/en/build-with-claude/claude-in-microsoft-foundry',
  format: 'anthropic',
  base: 'https://{resource}.services.ai.azure.com/anthropic',
  parameters: {
    resource: 'name of the Foundry resource',
  },
  endpoints: {
    '/v1/messages': '/v1/messages',
    '/v1/messages/count_tokens': '/v1/messages/count_tokens',
  },
  auth: [
    {
      type: 'header',
      header: 'x-api-key',
    },
    {
      type: 'entra',
      scope: 'https://ai.azure.com/.default',
    },
    {
      type: 'entra',
      scope: 'https://cognitiveservices.azure.com/.default',
    },
    {
      type: 'header',
      header: 'api-key',
    },
    {
      type: 'bearer',
    },
  ],
  headers: {},
  betas: 'standard',
  body: {},
  refuses: ['fallbacks', 'inference_geo', 'speed'],
  streamUsage: 'asked',
  totalExtra: 'reasoning',
  pricing: {
    classes: [
      {
        field: 'service_tier',
        asks: {
          auto: 'standard',
          standard_only: 'standard',
        },
        answersAt: 'usage.service_tier',
        answers: {
          standard: 'standard',
        },
      },
    ],
    tools: [
      {
        unit: 'web_search',
        types: ['web_search_*'],
        fields: [],
        reportedAt: 'usage.server_tool_use.web_search_requests',
        usesMax: 10,
        boundedBy: 'max_uses',
      },
    ],
    freeTools: ['custom', 'bash_*', 'text_editor_*', 'computer_*', 'memory_*', 'web_fetch_*', 'tool_search_*'],
    unpricedFields: {},
  },
  errors: [
    {
      status: 401,
      code: null,
      text: 'invalid subscription key or wrong API endpoint',
      class: 'credential',
    },
    {
      status: 401,
      code: null,
      text: 'Access token is missing, invalid, audience is incorrect',
      class: 'credential',
    },
    {
      status: 401,
      code: 'PermissionDenied',
      text: null,
      class: 'credential',
    },
    {
      status: 404,
      code: 'DeploymentNotFound',
      text: null,
      class: 'model',
    },
    {
      status: 404,
      code: 'api_not_supported',
      text: null,
      class: 'model',
    },
    {
      status: 400,
      code: 'invalid_request_error',
      text: 'not supported in your workspace',
      class: 'body',
    },
    {
      status: 400,
      code: null,
      text: 'Unexpected value\\(s\\) .* for the `anthropic-beta` header',
      class: 'body',
    },
    {
      status: 400,
      code: null,
      text: 'Extra inputs are not permitted',
      class: 'body',
    },
  ],
  unlimitedMaxTokens: [],
  cancelStopsBilling: false,
  keepsState: false,
  keyVariable: 'ANTHROPIC_FOUNDRY_API_KEY',
  catches: [
    "Two kinds of error bodies reach the caller: Azure's front ({error:{code,message}}, {statusCode,message}) and Anthropic's ({type:error,error:{type,message}}).",
    'The model field is the deployment name; the hosting (version 1 Hosted on Anthropic, version 2 Hosted on Azure) hangs on the deployment and decides which tools and betas work.',
    'No anthropic-ratelimit-* headers come back; retry-after was not seen documented either.',
    "Microsoft's page gives the Entra scope https://ai.cognitiveservices.com/.default, Anthropic's https://ai.azure.com/.default, live users https://cognitiveservices.azure.com: use ai.azure.com and keep the scope settable.",
    'Which key header works was reported in conflict: documents x-api-key (Microsoft) and api-key or x-api-key (Anthropic), one user saw api-key refused with 401, others x-api-key refused on an openai.azure.com host where Bearer worked.',
    'No Azure content filter is applied: refusals come as 200 with stop_reason refusal; on Fable 5 and 5.1 refused input is not billed.',
    'Mythos models take Entra only; API keys are refused.',
    'Claude called on /openai/v1/chat/completions answers 404 api_not_supported.',
    'invalid_model_endpoint_authentication is a fault between Azure and the publisher (transient, or for ever where the subscription cannot buy from the Marketplace such as credit-only ones); a bad key gives 401 instead.',
    'Take the last usage of a stream: message_start carries a partial output count.',
    'Default quota on pay-as-you-go is small (40 requests a minute, 40000 uncached input tokens); free trials have 0; cache reads do not count.',
    'Message Batches, Models API, advisor tool, server-side fallbacks, fast mode and cache diagnostics do not exist here.',
    "Bills go through the Azure Marketplace in Claude Consumption Units, without the model's name and not on the Foundry account.",
  ],
};
