/** The documents that pages of the dashboard lead to. */
const DOCUMENTS = {
  keys: "/docs/tutorials/first-request",
  tokens: "/docs/reference/api#managing-the-account",
  audit: "/docs/reference/api#audit-log",
  credits: "/docs/reference/api#credit",
  models: "/docs/how-to/add-a-model",
  clients: "/docs/how-to/connect-clients",
} as const;

const TEXTS: Readonly<Record<keyof typeof DOCUMENTS, string>> = {
  keys: "Learn more about the first request",
  tokens: "Learn more about management tokens",
  audit: "Learn more about the request log",
  credits: "Learn more about credit",
  models: "Learn more about adding models",
  clients: "Learn more about connecting clients",
};

/** A link to the document about a subject. */
export function LearnMore({ about }: { readonly about: keyof typeof DOCUMENTS }) {
  return (
    <p>
      {/* The documentation has pages of its own, which the router does not know. */}
      <a href={DOCUMENTS[about]}>{TEXTS[about]}</a>
    </p>
  );
}
