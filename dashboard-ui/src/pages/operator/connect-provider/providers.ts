/** A kind of provider, with what its form begins with. */
export interface Provider {
  /** The name of the upstream in the catalog. */
  readonly name: string;
  readonly label: string;
  readonly dialect: "openai" | "openai-responses" | "anthropic" | "google";
  /** Parts in angle brackets are replaced by the operator. */
  readonly baseUrl: string;
  /** The environment variable of the credential; `null`: the provider needs none. */
  readonly credentialEnv: string | null;
}

export const PROVIDERS: readonly Provider[] = [
  {
    name: "openai",
    label: "OpenAI",
    dialect: "openai",
    baseUrl: "https://api.openai.com/v1",
    credentialEnv: "OPENAI_API_KEY",
  },
  {
    name: "anthropic",
    label: "Anthropic",
    dialect: "anthropic",
    baseUrl: "https://api.anthropic.com/v1",
    credentialEnv: "ANTHROPIC_API_KEY",
  },
  {
    name: "google",
    label: "Google Gemini",
    dialect: "google",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    credentialEnv: "GEMINI_API_KEY",
  },
  {
    name: "azure",
    label: "Azure OpenAI",
    dialect: "openai",
    baseUrl: "https://<resource>.openai.azure.com/openai/v1",
    credentialEnv: "AZURE_OPENAI_API_KEY",
  },
  {
    name: "bedrock",
    label: "Amazon Bedrock",
    dialect: "openai",
    baseUrl: "https://bedrock-mantle.<region>.api.aws/v1",
    credentialEnv: "AWS_BEARER_TOKEN_BEDROCK",
  },
  {
    name: "mistral",
    label: "Mistral",
    dialect: "openai",
    baseUrl: "https://api.mistral.ai/v1",
    credentialEnv: "MISTRAL_API_KEY",
  },
  {
    name: "groq",
    label: "Groq",
    dialect: "openai",
    baseUrl: "https://api.groq.com/openai/v1",
    credentialEnv: "GROQ_API_KEY",
  },
  {
    name: "ollama",
    label: "Ollama",
    dialect: "openai",
    baseUrl: "http://127.0.0.1:11434/v1",
    credentialEnv: null,
  },
  {
    name: "custom",
    label: "Other (OpenAI-compatible)",
    dialect: "openai",
    baseUrl: "https://<host>/v1",
    credentialEnv: "PROVIDER_API_KEY",
  },
];
