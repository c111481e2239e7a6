/** A page of the navigation and the keyboard shortcuts. */
export interface PageLink {
  readonly to:
    | "/"
    | "/playground"
    | "/models"
    | "/connect"
    | "/audit"
    | "/settings/keys"
    | "/settings/tokens"
    | "/settings/credits"
    | "/settings/account"
    | "/settings/sign-in"
    | "/operator"
    | "/operator/usage"
    | "/operator/log"
    | "/operator/status"
    | "/operator/upstreams"
    | "/operator/catalog"
    | "/operator/connect"
    | "/operator/security"
    | "/operator/trail";
  readonly label: string;
  /** The key to press after `g`. */
  readonly shortcut: string;
}

export interface PageGroup {
  readonly title: string | null;
  readonly pages: readonly PageLink[];
}

const TOKENS: PageLink = { to: "/settings/tokens", label: "Management tokens", shortcut: "t" };
const OPERATOR_TOKENS: PageLink = { ...TOKENS, shortcut: "m" };

export const ACCOUNT_PAGES: readonly PageGroup[] = [
  {
    title: null,
    pages: [
      { to: "/", label: "Overview", shortcut: "o" },
      { to: "/playground", label: "Playground", shortcut: "p" },
      { to: "/models", label: "Models", shortcut: "m" },
      { to: "/connect", label: "Quickstart", shortcut: "n" },
      { to: "/audit", label: "Request log", shortcut: "l" },
    ],
  },
  {
    title: "Settings",
    pages: [
      { to: "/settings/keys", label: "API keys", shortcut: "k" },
      TOKENS,
      { to: "/settings/credits", label: "Credits", shortcut: "c" },
      { to: "/settings/account", label: "Account", shortcut: "a" },
    ],
  },
];

export const OPERATOR_PAGES: readonly PageGroup[] = [
  {
    title: "Operator",
    pages: [
      { to: "/operator", label: "Accounts", shortcut: "a" },
      { to: "/operator/usage", label: "Usage", shortcut: "u" },
      { to: "/operator/log", label: "Request log", shortcut: "l" },
      { to: "/operator/status", label: "Status", shortcut: "w" },
      { to: "/operator/upstreams", label: "Upstreams", shortcut: "h" },
      { to: "/operator/catalog", label: "Catalog", shortcut: "c" },
      { to: "/operator/connect", label: "Connect a provider", shortcut: "n" },
      { to: "/operator/security", label: "Security events", shortcut: "s" },
      { to: "/operator/trail", label: "Audit trail", shortcut: "t" },
    ],
  },
  {
    title: "Settings",
    pages: [OPERATOR_TOKENS, { to: "/settings/sign-in", label: "Security", shortcut: "i" }],
  },
];
