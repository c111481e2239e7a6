import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api } from "../../api/client.ts";
import { ShownOnce, TryWithCurl } from "../../components/ShownOnce.tsx";
import { firstChatModelOf } from "../models/model.ts";

interface CreatedKeyProps {
  readonly name: string;
  readonly keyString: string;
  readonly lead?: ReactNode;
  readonly onClose: () => void;
}

/** The key string of a new key, with a request to try it. */
export function CreatedKey({ name, keyString, lead, onClose }: CreatedKeyProps) {
  const info = useQuery(api.service.info.queryOptions());
  const models = useQuery(api.models.list.queryOptions());
  const model = firstChatModelOf(models.data?.models ?? [])?.id;
  return (
    <ShownOnce title={`Key “${name}” created`} what="key" secret={keyString} lead={lead} onClose={onClose}>
      {model === undefined ? null : (
        <TryWithCurl command={curlFor(info.data?.publicUrl ?? location.origin, keyString, model)} />
      )}
    </ShownOnce>
  );
}

function curlFor(url: string, keyString: string, model: string): string {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hello!" }] });
  return [
    `curl ${url}/v1/chat/completions \\`,
    `  -H "Authorization: Bearer ${keyString}" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${body}'`,
  ].join("\n");
}
