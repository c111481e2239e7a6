import { useMutation, useQuery } from "@tanstack/react-query";
import { useMemo, useRef, useState } from "react";
import { api, queryClient } from "../../api/client.ts";
import { errorTextOf } from "../../api/errors.ts";
import type { ListedSession } from "../../api/types.ts";
import { Address } from "../../components/Address.tsx";
import { Badge } from "../../components/Badge.tsx";
import { Button } from "../../components/Button.tsx";
import { useFolded } from "../../components/Folded.tsx";
import formStyles from "../../components/form.module.css";
import { formatDateTime, formatExactTime } from "../../components/format.ts";
import { Loaded } from "../../components/Loaded.tsx";
import listsStyles from "../../components/lists.module.css";
import { scrollIntoSight } from "../../components/Notice.tsx";
import panelStyles from "../../components/Panel.module.css";
import textStyles from "../../components/text.module.css";
import { toast } from "../../components/toast.ts";
import { SignOutEverywhere } from "./SignOutEverywhere.tsx";

/** The number of sessions that are shown at first. */
const MAX_SHOWN = 5;

const askAgain = () => queryClient.invalidateQueries({ queryKey: api.auth.sessions.queryKey() });

/** The user's sessions, which can be ended one at a time or all at once. */
export function Sessions() {
  const title = useRef<HTMLHeadingElement>(null);
  const list = useQuery(api.auth.sessions.queryOptions());
  const end = useMutation(
    api.auth.endSession.mutationOptions({
      onSuccess: (_, { id }) => {
        // To load the list again may take long on a slow network, or fail.
        queryClient.setQueryData(api.auth.sessions.queryKey(), (known) =>
          known === undefined
            ? known
            : { ...known, sessions: known.sessions.filter((session) => session.id !== id) },
        );
        toast("Session signed out");
        // The pressed button is gone with its row, so the focus moves to the title.
        title.current?.focus();
      },
      // The session may have ended although the answer was lost.
      onSettled: () => void askAgain(),
    }),
  );
  const [isEndingAll, setEndingAll] = useState(false);
  return (
    <section className={panelStyles.panel} aria-labelledby="sessions">
      <div className={panelStyles.panelHead}>
        <h2 id="sessions" ref={title} tabIndex={-1}>
          Sessions
        </h2>
        <Button onClick={() => setEndingAll(true)}>Sign out everywhere</Button>
      </div>
      <Loaded query={list} what="sessions">
        {({ sessions }) => (
          <SessionList
            sessions={sessions}
            endingId={end.isPending ? end.variables.id : null}
            failure={end.error === null ? null : { id: end.variables.id, text: errorTextOf(end.error) }}
            onEnd={(id) => end.mutate({ id })}
          />
        )}
      </Loaded>
      {isEndingAll ? (
        <SignOutEverywhere count={list.data?.sessions.length} onClose={() => setEndingAll(false)} />
      ) : null}
    </section>
  );
}

interface SessionListProps {
  readonly sessions: readonly ListedSession[];
  /** The session that is being ended. */
  readonly endingId: string | null;
  /** Why a session could not be ended. */
  readonly failure: { readonly id: string; readonly text: string } | null;
  readonly onEnd: (id: ListedSession["id"]) => void;
}

/** The current session, then the others, last seen first. A long list is folded, as scripts may have signed in very often. */
function SessionList({ sessions, endingId, failure, onEnd }: SessionListProps) {
  const named = useMemo(() => namedSessions(sessions), [sessions]);
  const { shown, footer } = useFolded(named, MAX_SHOWN);
  return (
    <>
      <ul className={listsStyles.rows}>
        {shown.map(({ session, name }) => (
          <li key={session.id}>
            <Session session={session} name={name} error={failure?.id === session.id ? failure.text : null} />
            {session.isCurrent ? (
              <Badge tone="good">This session</Badge>
            ) : (
              <Button
                aria-label={`Sign out session: ${name}, signed in ${formatExactTime(session.createdAt)}`}
                busy={endingId === session.id}
                onClick={() => onEnd(session.id)}
              >
                Sign out
              </Button>
            )}
          </li>
        ))}
      </ul>
      {footer}
    </>
  );
}

interface SessionProps extends NamedSession {
  readonly error: string | null;
}

function Session({ session, name, error }: SessionProps) {
  return (
    <span className={textStyles.pair}>
      {name}
      <span className={textStyles.small}>
        from <Address ip={session.sourceIp} />, signed in {formatExactTime(session.createdAt)}, last seen{" "}
        {formatDateTime(session.lastSeenAt)}
      </span>
      {error === null ? null : (
        <span className={formStyles.fieldError} role="alert" ref={scrollIntoSight}>
          {error}
        </span>
      )}
    </span>
  );
}

interface NamedSession {
  readonly session: ListedSession;
  /** The browser, numbered where another one of its name began in the same second, as their times are shown alike. */
  readonly name: string;
}

function namedSessions(sessions: readonly ListedSession[]): readonly NamedSession[] {
  const shownOf = (session: ListedSession) => `${browserOf(session)}, ${formatExactTime(session.createdAt)}`;
  const alike = new Map<string, ListedSession[]>();
  for (const session of sessions) {
    const same = alike.get(shownOf(session));
    if (same === undefined) alike.set(shownOf(session), [session]);
    else same.push(session);
  }
  const named = sessions.map((session) => {
    const same = alike.get(shownOf(session)) ?? [session];
    const number = same.length === 1 ? "" : ` (${same.indexOf(session) + 1} of ${same.length})`;
    return { session, name: browserOf(session) + number };
  });
  return named.toSorted((a, b) => Number(b.session.isCurrent) - Number(a.session.isCurrent));
}

const BROWSERS = [
  [/\bEdg\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bFirefox\//, "Firefox"],
  [/Chrome\//, "Chrome"],
  [/\bSafari\//, "Safari"],
] as const;
const SYSTEMS = [
  [/\bAndroid\b/, "Android"],
  [/\b(?:iPhone|iPad)\b/, "iOS"],
  [/\bMac OS X\b/, "macOS"],
  [/\bWindows\b/, "Windows"],
  [/\bLinux\b/, "Linux"],
] as const;

/** The browser's name. A full user agent is long and mostly historical. */
function browserOf({ userAgent }: ListedSession): string {
  if (userAgent === null) return "Unknown browser";
  const named = (names: typeof BROWSERS | typeof SYSTEMS) =>
    names.find(([sign]) => sign.test(userAgent))?.[1];
  const browser = named(BROWSERS) ?? userAgent.slice(0, 40);
  const system = named(SYSTEMS);
  return system === undefined ? browser : `${browser} on ${system}`;
}
