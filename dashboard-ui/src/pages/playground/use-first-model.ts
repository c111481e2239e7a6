import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import type { ListedModel } from "../../api/types.ts";
import { firstChatModelOf } from "../models/model.ts";
import type { Chat } from "./chat.ts";
import type { ChatState } from "./chat-state.ts";
import { findModel } from "./find-model.ts";

interface FirstModel {
  readonly model: ListedModel | undefined;
  /** The model that the address names, if it does not exist. */
  readonly missing: string | null;
  readonly choose: (modelId: string) => void;
}

/** The first lane's model. The address may name it, and names it once the user has chosen another. */
export function useFirstModel(
  chat: Chat,
  { lanes }: Pick<ChatState, "lanes">,
  models: readonly ListedModel[],
): FirstModel {
  const { model: asked } = useSearch({ from: "/shell/account/playground" });
  const navigate = useNavigate({ from: "/playground" });
  const laneId = lanes[0]?.id;
  const laneModel = lanes[0]?.model ?? null;
  const named = findModel(models, asked ?? null);
  const missing = asked !== undefined && named === undefined ? asked : null;
  const namedId = named?.id;
  const model = missing === null ? (findModel(models, laneModel) ?? firstChatModelOf(models)) : undefined;
  const fallbackId = model?.id;

  useEffect(() => {
    const first = chat.state().lanes[0];
    if (first !== undefined && namedId !== undefined) chat.setModel(first.id, namedId);
  }, [chat, namedId]);

  useEffect(() => {
    if (
      laneId !== undefined &&
      fallbackId !== undefined &&
      fallbackId !== laneModel &&
      namedId === undefined
    ) {
      chat.setModel(laneId, fallbackId);
    }
  }, [chat, laneId, laneModel, fallbackId, namedId]);

  const before = useRef(laneModel);
  useEffect(() => {
    const isChange = before.current !== null && before.current !== laneModel;
    before.current = laneModel;
    if (isChange && laneModel !== null && laneModel !== namedId) {
      void navigate({ search: { model: laneModel }, replace: true, resetScroll: false });
    }
  }, [laneModel, namedId, navigate]);

  const choose = (modelId: string) => {
    if (laneId !== undefined) chat.setModel(laneId, modelId);
    void navigate({ search: { model: modelId }, replace: true, resetScroll: false });
  };
  return { model, missing, choose };
}
