import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ALONE, api } from "../../api/client.ts";
import {
  BookOpen,
  Boxes,
  FileSearch,
  Keyboard,
  KeyRound,
  LogOut,
  Monitor,
  Moon,
  Plus,
  Sun,
  UserRound,
} from "../../icons/icons.ts";
import { PAGE_ICONS } from "../page-icons.ts";
import { searchTextOf } from "../search-text.ts";
import { chooseTheme } from "../theme.ts";
import { usePaused } from "../use-paused.ts";
import { type Command, type CommandGroup, MAX_OF_A_KIND, matches, present, requestIdIn } from "./commands.ts";
import type { PaletteProps } from "./Palette.tsx";

const icon = { size: 16, "aria-hidden": true } as const;

interface Commands {
  readonly groups: readonly CommandGroup[];
  readonly isSearching: boolean;
  /** Why some of what is searched could not be loaded; `null` while it could. */
  readonly error: unknown;
}

/** The commands that match the text. Accounts, and the keys of an account that has very many, are searched on the server. */
export function useCommands(text: string, props: PaletteProps): Commands {
  const search = searchTextOf(text);
  const pages = usePages(props);
  const actions = useActions(props);
  const owned = useOwned(search, !props.isOperator);
  const requests = useRequest(search, props.isOperator);
  const accounts = useAccounts(search, props.isOperator);
  const found = (commands: readonly Command[]) =>
    commands.filter(({ label, note = "" }) => matches(search, label, note));
  const groups = present([
    { value: "Requests", items: requests },
    { value: "Accounts", items: accounts.items },
    { value: "Pages", items: found(pages) },
    { value: "Keys", items: owned.keys },
    { value: "Models", items: owned.models },
    { value: "Actions", items: found(actions) },
  ]);
  return {
    groups,
    isSearching: accounts.isSearching || owned.isSearching,
    error: accounts.error ?? owned.error,
  };
}

function usePages({ pages }: PaletteProps): readonly Command[] {
  const navigate = useNavigate();
  return [
    ...pages.map(({ to, label }) => {
      const Icon = PAGE_ICONS[to];
      return { id: to, label, icon: <Icon {...icon} />, run: () => void navigate({ to }) };
    }),
    { id: "docs", label: "Docs", icon: <BookOpen {...icon} />, run: () => location.assign("/docs") },
  ];
}

function useActions({ isOperator, onSignOut, onShowShortcuts }: PaletteProps): readonly Command[] {
  const navigate = useNavigate();
  const create: Command = {
    id: "create-key",
    label: "Create API key",
    icon: <Plus {...icon} />,
    run: () => void navigate({ to: "/settings/keys", hash: "create" }),
  };
  return [
    ...(isOperator ? [] : [create]),
    { id: "light", label: "Light theme", icon: <Sun {...icon} />, run: () => chooseTheme("light") },
    { id: "dark", label: "Dark theme", icon: <Moon {...icon} />, run: () => chooseTheme("dark") },
    {
      id: "auto",
      label: "Auto theme",
      note: "as the system",
      icon: <Monitor {...icon} />,
      run: () => chooseTheme("system"),
    },
    { id: "shortcuts", label: "Keyboard shortcuts", icon: <Keyboard {...icon} />, run: onShowShortcuts },
    { id: "sign-out", label: "Sign out", icon: <LogOut {...icon} />, run: onSignOut },
  ];
}

/** The request whose id is in the search: one of the account, and for operators one of any account. */
function useRequest(search: string, isOperator: boolean): readonly Command[] {
  const navigate = useNavigate();
  const entry = requestIdIn(search);
  if (entry === undefined) return [];
  return [
    {
      id: entry,
      label: "Open in the request log",
      note: entry,
      icon: <FileSearch {...icon} />,
      run: () => void navigate({ to: isOperator ? "/operator/log" : "/audit", search: { entry } }),
    },
  ];
}

/** The keys and models of the account. Without a search they would hide the pages. */
function useOwned(search: string, isEnabled: boolean) {
  const navigate = useNavigate();
  const keys = useQuery(api.keys.list.queryOptions(undefined, { ...ALONE, enabled: isEnabled }));
  const models = useQuery(api.models.list.queryOptions(undefined, { ...ALONE, enabled: isEnabled }));
  const further = useFurtherKeys(search, keys.data?.nextCursor != null);
  const error = keys.error ?? models.error ?? further.error;
  if (search === "" || !isEnabled) return { keys: [], models: [], isSearching: false, error };
  const listed = keys.data?.keys ?? [];
  const isListed = new Set(listed.map(({ id }) => id));
  return {
    isSearching: keys.isLoading || models.isLoading || further.isSearching,
    error,
    keys: [...listed, ...further.keys.filter(({ id }) => !isListed.has(id))]
      .filter(({ name, keyId }) => matches(search, name, keyId))
      .slice(0, MAX_OF_A_KIND)
      .map(({ id, name, keyId, state }) => ({
        id,
        label: name,
        note: state === "active" ? `…${keyId}` : `…${keyId}, ${state}`,
        icon: <KeyRound {...icon} />,
        run: () =>
          void navigate({
            to: "/settings/keys/$keyId",
            params: { keyId: id },
            search: { range: "7d", by: "none" },
          }),
      })),
    models: (models.data?.models ?? [])
      .filter((model) => matches(search, model.id, model.ownedBy, ...model.aliases))
      .slice(0, MAX_OF_A_KIND)
      .map((model) => ({
        id: model.id,
        label: model.id,
        note: model.ownedBy,
        icon: <Boxes {...icon} />,
        run: () =>
          void navigate({
            to: "/models/$model",
            params: { model: model.id },
            search: { range: "7d", by: "none" },
          }),
      })),
  };
}

/** The keys that match among those that the first page of an account's keys does not have. */
function useFurtherKeys(search: string, isCut: boolean) {
  const paused = usePaused(search);
  const isAsked = isCut && paused !== "";
  const input = { search: paused.slice(0, MAX_KEY_SEARCH), limit: MAX_OF_A_KIND };
  const found = useQuery(api.keys.list.queryOptions(input, { ...ALONE, enabled: isAsked }));
  return {
    keys: isAsked && paused === search ? (found.data?.keys ?? []) : [],
    isSearching: isCut && search !== "" && (paused !== search || found.isFetching),
    error: found.error,
  };
}

/** The longest text that keys are searched for. */
const MAX_KEY_SEARCH = 64;

/** The accounts of the service that match, for operators. */
function useAccounts(search: string, isEnabled: boolean) {
  const navigate = useNavigate();
  const paused = usePaused(search);
  const isAsked = isEnabled && paused !== "";
  const found = useQuery(
    api.operator.accounts.list.queryOptions(
      { search: paused, limit: MAX_OF_A_KIND },
      { ...ALONE, enabled: isAsked },
    ),
  );
  const items: readonly Command[] =
    isAsked && paused === search
      ? (found.data?.accounts ?? []).map(({ id, name, users, state }) => ({
          id,
          label: name,
          note: [users[0]?.email, state === "active" ? undefined : state].filter(Boolean).join(", "),
          icon: <UserRound {...icon} />,
          run: () => void navigate({ to: "/operator/accounts/$accountId", params: { accountId: id } }),
        }))
      : [];
  const isSearching = isEnabled && search !== "" && (paused !== search || found.isFetching);
  return { items, isSearching, error: found.error };
}
