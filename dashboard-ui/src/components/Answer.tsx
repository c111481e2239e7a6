import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { LoadError, Loading } from "./Notice.tsx";

interface AnswerProps<Data> {
  readonly query: UseQueryResult<Data, unknown>;
  /** What is being loaded: "models". */
  readonly what: string;
  readonly children: (data: Data) => ReactNode;
}

/** What was asked for, once it is there; till then that it is on its way, or what went wrong. What is there stays. */
export function Answer<Data>({ query, what, children }: AnswerProps<Data>) {
  const { data, isPending, isError, error, isFetching, refetch } = query;
  return (
    <>
      {isPending ? <Loading what={what} /> : null}
      {isError ? <LoadError error={error} busy={isFetching} retry={() => void refetch()} /> : null}
      {data === undefined ? null : children(data)}
    </>
  );
}
