import {
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  Link,
  Outlet,
  redirect,
  useRouter,
} from "@tanstack/react-router";
import { api, queryClient } from "./api/client.ts";
import { LoadError, Loading } from "./components/Notice.tsx";
import { Shell } from "./components/Shell.tsx";
import { Welcome } from "./components/Welcome.tsx";
import { Audit } from "./pages/Audit.tsx";
import { Account } from "./pages/account/Account.tsx";
import { OperatorHome } from "./pages/account/OperatorHome.tsx";
import { Keys } from "./pages/keys/Keys.tsx";
import { SignIn } from "./pages/SignIn.tsx";
import { SignUp } from "./pages/SignUp.tsx";
import { Tokens } from "./pages/tokens/Tokens.tsx";

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: () => (
    <Welcome title="There is no such page">
      <p>
        <Link to="/settings/keys">Go to the API keys</Link>
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
  },
});
const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/settings/keys" });
  },
});
/** Pages of an account, which operators have none of. */
const account = createRoute({
  getParentRoute: () => shell,
  id: "account",
  component: Outlet,
  beforeLoad: async () => {
    const me = await queryClient.ensureQueryData(api.auth.me.queryOptions());
    if (me?.user.role === "operator") throw redirect({ to: "/operator" });
  },
});
const keys = createRoute({ getParentRoute: () => account, path: "/settings/keys", component: Keys });
const settings = createRoute({
  getParentRoute: () => account,
  path: "/settings/account",
  component: Account,
});
const tokens = createRoute({ getParentRoute: () => shell, path: "/settings/tokens", component: Tokens });
const audit = createRoute({ getParentRoute: () => account, path: "/audit", component: Audit });
const operator = createRoute({ getParentRoute: () => shell, path: "/operator", component: OperatorHome });

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    signIn,
    signUp,
    shell.addChildren([account.addChildren([keys, audit, settings]), tokens, operator]),
  ]),
  defaultPreload: "intent",
  defaultPendingMs: 400,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
