import { useRef, useState, useSyncExternalStore } from "react";
import { api, queryClient } from "../../api/client.ts";
import type { ListedKey, ListedModel } from "../../api/types.ts";
import { Notice } from "../../components/Notice.tsx";
import panelStyles from "../../components/Panel.module.css";
import textStyles from "../../components/text.module.css";
import type { Accepted } from "./attachment.ts";
import { Composer } from "./Composer.tsx";
import { Conversations } from "./Conversations.tsx";
import type { Chat } from "./chat.ts";
import {
  type ChatMessage,
  type ChatState,
  hasContent,
  messagesWithDraft,
  targetsOf,
  withoutLastAnswer,
} from "./chat-state.ts";
import { findModel } from "./find-model.ts";
import styles from "./PlaygroundLayout.module.css";
import { problemWith } from "./problem.ts";
import { RequestPanel } from "./RequestPanel.tsx";
import { TalkActions } from "./TalkActions.tsx";
import { useChosenKey } from "./use-chosen-key.ts";
import { useFirstModel } from "./use-first-model.ts";
import { useFollowing } from "./use-following.ts";
import { isShared, useSharedChat } from "./use-shared-chat.ts";

interface PlaygroundLayoutProps {
  readonly chat: Chat;
  readonly userId: string;
  /** The models that support chat. */
  readonly models: readonly ListedModel[];
  /** The first keys of the account. */
  readonly keys: readonly ListedKey[];
  /** Whether the account has further keys, which are found by a search. */
  readonly hasMoreKeys: boolean;
}

/** The playground's layout: the request beside the conversation. */
export function PlaygroundLayout({ chat, userId, models, keys: listed, hasMoreKeys }: PlaygroundLayoutProps) {
  const state = useSyncExternalStore(chat.subscribe, chat.state);
  const { model, missing, choose } = useFirstModel(chat, state, models);
  const { keys, key, choose: chooseKey } = useChosenKey(listed);
  const [problem, setProblem] = useState<string | null>(null);
  const composer = useRef<HTMLTextAreaElement>(null);
  const talk = useRef<HTMLElement>(null);
  // A reader who returns to a chat continues at its end. A new chat and a shared one are read from the top.
  const [startsAtEnd] = useState(() => hasContent(state) && !isShared(location.hash));
  const follow = useFollowing(talk, startsAtEnd);
  const notice = useSharedChat(chat);
  const backToComposer = () => composer.current?.focus({ preventScroll: true });

  const ask = (
    conversations: readonly (readonly ChatMessage[])[],
    act: (keyUuid: string) => Promise<void>,
  ) => {
    const wrong = problemWith(state, conversations, { model, key, hasKeys: keys.length > 0 });
    setProblem(wrong);
    if (wrong !== null || key === undefined) return;
    follow();
    void act(key.id).finally(() => {
      // The request has changed the key's last use, and a refused key may be revoked.
      void queryClient.invalidateQueries({ queryKey: api.keys.list.queryKey() });
      void queryClient.invalidateQueries({ queryKey: api.keys.get.queryKey() });
    });
  };
  const accepted = acceptedBy(models, state);
  const attach = async (files: readonly File[]) => setProblem(await chat.attach(files, accepted));
  const send = () => {
    const conversations = targetsOf(state).map((lane) => messagesWithDraft(state, lane));
    ask(conversations, (keyUuid) => chat.send(keyUuid));
  };

  return (
    <div className={styles.playground}>
      <RequestPanel
        chat={chat}
        state={state}
        models={models}
        model={model}
        missing={missing}
        chooseFirst={choose}
        keys={keys}
        hasMoreKeys={hasMoreKeys}
        apiKey={key}
        chooseKey={chooseKey}
      />
      <section className={styles.talk} ref={talk} aria-labelledby="conversation">
        <div className={panelStyles.panelHead}>
          <h2 id="conversation">Conversation</h2>
          <TalkActions chat={chat} state={state} userId={userId} onChange={backToComposer} onOpen={follow} />
        </div>
        {notice === null ? null : <Notice tone="warning">{notice}</Notice>}
        <Conversations
          chat={chat}
          lanes={state.lanes}
          onRemove={backToComposer}
          askAgain={(lane) =>
            ask([withoutLastAnswer(lane.messages)], (keyUuid) => chat.sendAgain(lane.id, keyUuid))
          }
          resume={(lane) => ask([lane.messages], (keyUuid) => chat.resume(lane.id, keyUuid))}
        />
        <p className={textStyles.visuallyHidden} role="status">
          {state.announcement}
        </p>
        <Composer
          ref={composer}
          draft={state.draft}
          isRunning={targetsOf(state).some(({ isRunning }) => isRunning)}
          problem={problem}
          removal={state.removal}
          accepted={accepted}
          lanes={state.lanes}
          target={state.target}
          onTarget={(target) => chat.set({ target })}
          onChange={(draft) => {
            setProblem(null);
            chat.set({ draft });
          }}
          attach={(files) => void attach(files)}
          send={send}
          add={() => chat.add()}
          stop={() => {
            chat.stop();
            backToComposer();
          }}
          putBack={() => {
            chat.putBack();
            backToComposer();
          }}
        />
      </section>
    </div>
  );
}

/** What every model takes that the next message goes to. */
function acceptedBy(models: readonly ListedModel[], state: ChatState): Accepted {
  const inputs = targetsOf(state).map((lane) => findModel(models, lane.model)?.modalities.input ?? []);
  return {
    images: inputs.every((input) => input.includes("image")),
    files: inputs.every((input) => input.includes("file")),
  };
}
