import { createRootRoute, createRoute, createRouter, Outlet, redirect } from "@tanstack/react-router";
import { api } from "./api/client.ts";
import { lazyPage } from "./components/lazy.tsx";
import {
  DashboardFailed,
  DashboardLoading,
  LeaveDashboard,
  NotFoundInShell,
  PageFailed,
  PageLoading,
  PageNotFound,
} from "./components/RouteFailures.tsx";
import { Shell } from "./components/Shell.tsx";
import { briefly, load, requireSession } from "./load.ts";
import { changesQuery } from "./pages/account/changes-query.ts";
import { readAuditSearch, readServiceLogSearch } from "./pages/audit/search.ts";
import { connectKeysQuery } from "./pages/connect/keys-query.ts";
import { readConnectSearch } from "./pages/connect/search.ts";
import { statementQuery } from "./pages/credits/statement-query.ts";
import { readKeysSearch } from "./pages/keys/search.ts";
import { loadRotation } from "./pages/keys/use-key-use.ts";
import { readModelsSearch } from "./pages/models/search.ts";
import { accountsQuery, SERVICE_TRAIL_SIZE, securityQuery, trailQuery } from "./pages/operator/queries.ts";
import {
  readAccountsSearch,
  readCatalogSearch,
  readSecuritySearch,
  readTrailSearch,
  readUpstreamsSearch,
} from "./pages/operator/search.ts";
import { readAccountSearch } from "./pages/operator/search-account.ts";
import { loadChecklist, loadPart } from "./pages/overview/parts.ts";
import { firstKeysQuery } from "./pages/playground/keys-query.ts";
import { readPlaygroundSearch } from "./pages/playground/search.ts";
import { currentUsageQuery } from "./pages/usage/queries.ts";
import { readServiceUsageSearch, readUsageSearch } from "./pages/usage/search.ts";
import { ACCOUNT_USAGE, SERVICE_USAGE } from "./pages/usage/sources.ts";
import { ownPath } from "./sign-in/own-path.ts";

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: PageNotFound,
  errorComponent: DashboardFailed,
});
const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  // Every name must be present: the router keeps names that a validator omits, unchecked, as they are in the address.
  validateSearch: (
    search: Record<string, unknown>,
  ): { to?: string | undefined; ended?: true | undefined } => ({
    to: ownPath(search.to),
    ended: search.ended === true ? true : undefined,
  }),
  component: LeaveDashboard,
});
const signUp = createRoute({
  getParentRoute: () => root,
  path: "/sign-up",
  component: LeaveDashboard,
});
const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  beforeLoad: ({ location }) => requireSession(location.href),
  component: Shell,
  pendingComponent: DashboardLoading,
  errorComponent: DashboardFailed,
});
const tokens = createRoute({
  getParentRoute: () => shell,
  path: "/settings/tokens",
  loader: () => load(api.tokens.list.queryOptions()),
  component: lazyPage(() => import("./pages/tokens/Tokens.tsx"), "Tokens"),
});

/** Every other path, so that the navigation stays. */
const unknown = createRoute({
  getParentRoute: () => shell,
  path: "$",
  component: NotFoundInShell,
});

/** The parts of the design system, in development only: the code of the page is in no build. */
const design = createRoute({
  getParentRoute: () => shell,
  path: "/design",
  component: import.meta.env.DEV
    ? lazyPage(() => import("./pages/design/Design.tsx"), "Design")
    : NotFoundInShell,
});

/** Pages of an account. Operators have no account. */
const account = createRoute({
  getParentRoute: () => shell,
  id: "account",
  beforeLoad: ({ context }) => {
    if (context.role === "operator") throw redirect({ to: "/operator" });
  },
});
const overview = createRoute({
  getParentRoute: () => account,
  path: "/",
  validateSearch: readUsageSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ deps }) =>
    Promise.all([
      load(
        api.keys.count.queryOptions(),
        api.account.get.queryOptions(),
        api.account.limits.queryOptions(),
        api.credits.balance.queryOptions(),
        currentUsageQuery(ACCOUNT_USAGE, deps, deps.by),
      ),
      briefly(loadChecklist()),
      briefly(loadPart()),
    ]),
  component: lazyPage(() => import("./pages/overview/Overview.tsx"), "Overview"),
});
const playground = createRoute({
  getParentRoute: () => account,
  path: "/playground",
  validateSearch: readPlaygroundSearch,
  loader: () => load(api.models.list.queryOptions(), firstKeysQuery()),
  component: lazyPage(() => import("./pages/playground/Playground.tsx"), "Playground"),
});
const models = createRoute({
  getParentRoute: () => account,
  path: "/models",
  validateSearch: readModelsSearch,
  loader: () => load(api.models.list.queryOptions()),
  component: lazyPage(() => import("./pages/models/Models.tsx"), "Models"),
});
const model = createRoute({
  getParentRoute: () => account,
  path: "/models/$model",
  validateSearch: readUsageSearch,
  loader: () => load(api.models.list.queryOptions(), api.service.info.queryOptions()),
  component: lazyPage(() => import("./pages/models/ModelPage.tsx"), "ModelPage"),
});
const connect = createRoute({
  getParentRoute: () => account,
  path: "/connect",
  validateSearch: readConnectSearch,
  loader: () => load(api.models.list.queryOptions(), api.service.info.queryOptions(), connectKeysQuery()),
  component: lazyPage(() => import("./pages/connect/Connect.tsx"), "Connect"),
});
const audit = createRoute({
  getParentRoute: () => account,
  path: "/audit",
  validateSearch: readAuditSearch,
  // The page reads the entries itself each time it opens, starting from that moment.
  loader: () => load(api.models.list.queryOptions()),
  component: lazyPage(() => import("./pages/audit/Audit.tsx"), "Audit"),
});
const keys = createRoute({
  getParentRoute: () => account,
  path: "/settings/keys",
  validateSearch: readKeysSearch,
  loader: () => load(api.keys.list.queryOptions(), api.account.get.queryOptions()),
  component: lazyPage(() => import("./pages/keys/Keys.tsx"), "Keys"),
});
const key = createRoute({
  getParentRoute: () => account,
  path: "/settings/keys/$keyId",
  validateSearch: readUsageSearch,
  loader: ({ params }) =>
    load(
      api.keys.usage.queryOptions({ id: params.keyId }),
      api.models.list.queryOptions(),
      api.service.info.queryOptions(),
    ),
  component: lazyPage(() => import("./pages/keys/KeyPage.tsx"), "KeyPage"),
});
const rotation = createRoute({
  getParentRoute: () => account,
  path: "/settings/keys/$keyId/rotation",
  loader: ({ params }) => loadRotation(params.keyId),
  component: lazyPage(() => import("./pages/keys/RotationGuide.tsx"), "RotationGuide"),
});
const credits = createRoute({
  getParentRoute: () => account,
  path: "/settings/credits",
  loader: () => load(api.credits.balance.queryOptions(), statementQuery()),
  component: lazyPage(() => import("./pages/credits/Credits.tsx"), "Credits"),
});
const settings = createRoute({
  getParentRoute: () => account,
  path: "/settings/account",
  loader: () =>
    load(
      api.account.get.queryOptions(),
      api.account.limits.queryOptions(),
      api.keys.count.queryOptions(),
      api.credits.balance.queryOptions(),
      api.auth.sessions.queryOptions(),
      changesQuery(),
    ),
  component: lazyPage(() => import("./pages/account/Account.tsx"), "Account"),
});

/** The operator console, whose code other users do not load. */
const operator = createRoute({
  getParentRoute: () => shell,
  id: "operator",
  beforeLoad: ({ context }) => {
    if (context.role !== "operator") throw redirect({ to: "/" });
  },
});
type Console = typeof import("./pages/operator/console.ts");
/** All pages of the console are one file, which only operators load. */
const lazyConsole = (name: keyof Console) =>
  lazyPage(() => import("./pages/operator/console.ts"), name, { isAhead: false });
const operatorAccounts = createRoute({
  getParentRoute: () => operator,
  path: "/operator",
  validateSearch: readAccountsSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ deps }) => load(accountsQuery(deps)),
  component: lazyConsole("Accounts"),
});
const operatorAccount = createRoute({
  getParentRoute: () => operator,
  path: "/operator/accounts/$accountId",
  validateSearch: readAccountSearch,
  loader: ({ params: { accountId } }) => load(api.operator.accounts.get.queryOptions({ id: accountId })),
  component: lazyConsole("AccountPage"),
});
const operatorUsage = createRoute({
  getParentRoute: () => operator,
  path: "/operator/usage",
  validateSearch: readServiceUsageSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ deps }) => load(currentUsageQuery(SERVICE_USAGE, deps, deps.by)),
  component: lazyConsole("ServiceUsage"),
});
const operatorLog = createRoute({
  getParentRoute: () => operator,
  path: "/operator/log",
  validateSearch: readServiceLogSearch,
  loader: () => load(api.operator.catalog.queryOptions()),
  component: lazyPage(() => import("./pages/operator/ServiceLog.tsx"), "ServiceLog", { isAhead: false }),
});
const operatorStatus = createRoute({
  getParentRoute: () => operator,
  path: "/operator/status",
  loader: () => load(api.operator.status.queryOptions()),
  component: lazyConsole("Status"),
});
const operatorUpstreams = createRoute({
  getParentRoute: () => operator,
  path: "/operator/upstreams",
  validateSearch: readUpstreamsSearch,
  loader: () => load(api.operator.upstreams.queryOptions(), api.operator.catalog.queryOptions()),
  component: lazyConsole("Upstreams"),
});
const operatorCatalog = createRoute({
  getParentRoute: () => operator,
  path: "/operator/catalog",
  validateSearch: readCatalogSearch,
  loader: () => load(api.operator.catalog.queryOptions()),
  component: lazyConsole("CatalogPage"),
});
const operatorConnect = createRoute({
  getParentRoute: () => operator,
  path: "/operator/connect",
  component: lazyConsole("ConnectProvider"),
});
const operatorSecurity = createRoute({
  getParentRoute: () => operator,
  path: "/operator/security",
  validateSearch: readSecuritySearch,
  loaderDeps: ({ search }) => search,
  loader: ({ deps }) => load(securityQuery(deps)),
  component: lazyConsole("Security"),
});
const operatorTrail = createRoute({
  getParentRoute: () => operator,
  path: "/operator/trail",
  validateSearch: readTrailSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ deps }) => load(trailQuery({ ...deps, pageSize: SERVICE_TRAIL_SIZE })),
  component: lazyConsole("Trail"),
});
const security = createRoute({
  getParentRoute: () => operator,
  path: "/settings/sign-in",
  loader: () => load(api.auth.sessions.queryOptions()),
  component: lazyPage(() => import("./pages/account/SecuritySettings.tsx"), "SecuritySettings"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    signUp,
    shell.addChildren([
      tokens,
      unknown,
      design,
      account.addChildren([
        overview,
        playground,
        models,
        model,
        connect,
        audit,
        keys,
        key,
        rotation,
        credits,
        settings,
      ]),
      operator.addChildren([
        operatorAccounts,
        operatorAccount,
        operatorUsage,
        operatorLog,
        operatorStatus,
        operatorUpstreams,
        operatorCatalog,
        operatorConnect,
        operatorSecurity,
        operatorTrail,
        security,
      ]),
    ]),
  ]),
  defaultPreload: "intent",
  // The query cache decides what is fresh.
  defaultPreloadStaleTime: 0,
  defaultPendingMs: 400,
  defaultPendingComponent: PageLoading,
  // Beside the navigation, which goes on working.
  defaultErrorComponent: PageFailed,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
