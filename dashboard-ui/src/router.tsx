import {
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  Link,
  lazyRouteComponent,
  Outlet,
  redirect,
  useRouter,
} from "@tanstack/react-router";
import { api, queryClient } from "./api/client.ts";
import { LoadError, Loading } from "./components/Notice.tsx";
import { Shell } from "./components/Shell.tsx";
import { Welcome } from "./components/Welcome.tsx";
import { readAuditSearch } from "./pages/audit/search.ts";
import { readKeysSearch } from "./pages/keys/search.ts";
import { readModelsSearch } from "./pages/models/search.ts";
import { readAccountsSearch, readCatalogSearch, readSecuritySearch } from "./pages/operator/search.ts";
import { readPlaygroundSearch } from "./pages/playground/search.ts";
import { SignIn } from "./pages/SignIn.tsx";
import { SignUp } from "./pages/SignUp.tsx";
import { readServiceUsageSearch, readUsageSearch } from "./pages/usage/search.ts";

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: () => (
    <Welcome title="There is no such page">
      <p>
        <Link to="/">Go to the overview</Link>
      </p>
    </Welcome>
  ),
  errorComponent: PageError,
});

function PageError({ error }: ErrorComponentProps) {
  const router = useRouter();
  return (
    <Welcome title="The page could not be shown">
      {/* Asks again who is signed in: to forget the error alone would only bring it back. */}
      <LoadError error={error} retry={() => router.invalidate()} />
    </Welcome>
  );
}

/** Only a path of this dashboard: a link must not be able to send someone elsewhere after signing in. */
function ownPath(value: unknown): string | undefined {
  return typeof value === "string" && /^\/(?![/\\])/.test(value) ? value : undefined;
}

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  // Named even when there is none: what a validator leaves out, the router takes from the address as it stands.
  validateSearch: (search: Record<string, unknown>): { to?: string | undefined } => ({
    to: ownPath(search.to),
  }),
  component: SignIn,
});
const signUp = createRoute({ getParentRoute: () => root, path: "/sign-up", component: SignUp });

const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  component: Shell,
  pendingComponent: () => (
    <main className="welcome">
      <Loading what="the dashboard" />
    </main>
  ),
  beforeLoad: async ({ location }) => {
    // The account may have been suspended since: what is known is shown, and asked for again.
    const me = await queryClient.ensureQueryData({ ...api.auth.me.queryOptions(), revalidateIfStale: true });
    if (me === null) {
      queryClient.removeQueries({ queryKey: api.auth.me.queryKey() });
      throw redirect({ to: "/sign-in", search: { to: location.href } });
    }
    return { role: me.user.role };
  },
});
const tokens = createRoute({
  getParentRoute: () => shell,
  path: "/settings/tokens",
  component: lazyRouteComponent(() => import("./pages/tokens/Tokens.tsx"), "Tokens"),
});

/** Pages of an account, which operators have none of. */
const account = createRoute({
  getParentRoute: () => shell,
  id: "account",
  component: Outlet,
  beforeLoad: ({ context }) => {
    if (context.role === "operator") throw redirect({ to: "/operator" });
  },
});
const overview = createRoute({
  getParentRoute: () => account,
  path: "/",
  validateSearch: readUsageSearch,
  component: lazyRouteComponent(() => import("./pages/overview/Overview.tsx"), "Overview"),
});
const playground = createRoute({
  getParentRoute: () => account,
  path: "/playground",
  validateSearch: readPlaygroundSearch,
  component: lazyRouteComponent(() => import("./pages/playground/Playground.tsx"), "Playground"),
});
const models = createRoute({
  getParentRoute: () => account,
  path: "/models",
  validateSearch: readModelsSearch,
  component: lazyRouteComponent(() => import("./pages/models/Models.tsx"), "Models"),
});
const audit = createRoute({
  getParentRoute: () => account,
  path: "/audit",
  validateSearch: readAuditSearch,
  component: lazyRouteComponent(() => import("./pages/audit/Audit.tsx"), "Audit"),
});
const keys = createRoute({
  getParentRoute: () => account,
  path: "/settings/keys",
  validateSearch: readKeysSearch,
  component: lazyRouteComponent(() => import("./pages/keys/Keys.tsx"), "Keys"),
});
const rotation = createRoute({
  getParentRoute: () => account,
  path: "/settings/keys/$keyId/rotation",
  component: lazyRouteComponent(() => import("./pages/keys/RotationGuide.tsx"), "RotationGuide"),
});
const credits = createRoute({
  getParentRoute: () => account,
  path: "/settings/credits",
  component: lazyRouteComponent(() => import("./pages/credits/Credits.tsx"), "Credits"),
});
const settings = createRoute({
  getParentRoute: () => account,
  path: "/settings/account",
  component: lazyRouteComponent(() => import("./pages/account/Account.tsx"), "Account"),
});

/** The operator console: nobody else's browser loads its pages. */
const operator = createRoute({
  getParentRoute: () => shell,
  id: "operator",
  component: Outlet,
  beforeLoad: ({ context }) => {
    if (context.role !== "operator") throw redirect({ to: "/" });
  },
});
const operatorAccounts = createRoute({
  getParentRoute: () => operator,
  path: "/operator",
  validateSearch: readAccountsSearch,
  component: lazyRouteComponent(() => import("./pages/operator/console.ts"), "Accounts"),
});
const operatorAccount = createRoute({
  getParentRoute: () => operator,
  path: "/operator/accounts/$accountId",
  component: lazyRouteComponent(() => import("./pages/operator/console.ts"), "AccountPage"),
});
const operatorUsage = createRoute({
  getParentRoute: () => operator,
  path: "/operator/usage",
  validateSearch: readServiceUsageSearch,
  component: lazyRouteComponent(() => import("./pages/operator/console.ts"), "ServiceUsage"),
});
const operatorUpstreams = createRoute({
  getParentRoute: () => operator,
  path: "/operator/upstreams",
  component: lazyRouteComponent(() => import("./pages/operator/console.ts"), "Upstreams"),
});
const operatorCatalog = createRoute({
  getParentRoute: () => operator,
  path: "/operator/catalog",
  validateSearch: readCatalogSearch,
  component: lazyRouteComponent(() => import("./pages/operator/console.ts"), "CatalogPage"),
});
const operatorSecurity = createRoute({
  getParentRoute: () => operator,
  path: "/operator/security",
  validateSearch: readSecuritySearch,
  component: lazyRouteComponent(() => import("./pages/operator/console.ts"), "Security"),
});
const operatorTrail = createRoute({
  getParentRoute: () => operator,
  path: "/operator/trail",
  component: lazyRouteComponent(() => import("./pages/operator/console.ts"), "Trail"),
});
const signingIn = createRoute({
  getParentRoute: () => operator,
  path: "/settings/sign-in",
  component: lazyRouteComponent(() => import("./pages/account/SigningIn.tsx"), "SigningIn"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    signUp,
    shell.addChildren([
      tokens,
      account.addChildren([overview, playground, models, audit, keys, rotation, credits, settings]),
      operator.addChildren([
        operatorAccounts,
        operatorAccount,
        operatorUsage,
        operatorUpstreams,
        operatorCatalog,
        operatorSecurity,
        operatorTrail,
        signingIn,
      ]),
    ]),
  ]),
  defaultPreload: "intent",
  defaultPendingMs: 400,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
