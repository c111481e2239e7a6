import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { Loaded } from "../../components/Loaded.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { chats } from "../models/model.ts";
import { chatOf } from "./chat.ts";
import { firstKeysQuery } from "./keys-query.ts";
import { PlaygroundLayout } from "./PlaygroundLayout.tsx";

/** A page to test models by chat. */
export function Playground() {
  const me = useQuery(api.auth.me.queryOptions());
  const models = useQuery(api.models.list.queryOptions());
  const keys = useQuery(firstKeysQuery());
  const user = me.data?.user;
  return (
    <>
      <PageHead title="Playground" lead="Test any model. Requests are billed and logged." />
      <Loaded query={models} what="models">
        {(catalog) => (
          <Loaded query={keys} what="keys">
            {(list) =>
              user === undefined ? null : (
                <PlaygroundLayout
                  chat={chatOf(user.id)}
                  userId={user.id}
                  models={catalog.models.filter(chats)}
                  keys={list.keys}
                  hasMoreKeys={list.nextCursor !== null}
                />
              )
            }
          </Loaded>
        )}
      </Loaded>
    </>
  );
}
