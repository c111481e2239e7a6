import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { isMissing } from "../api/errors.ts";
import { LoadError, Loading } from "./Notice.tsx";

interface LoadedProps<Data> {
  readonly query: UseQueryResult<Data, unknown>;
  /** The data that is being loaded, such as "models". */
  readonly what: string;
  /** What is shown when there is nothing of the id in the page's address. Default: the error. */
  readonly missing?: ReactNode;
  readonly children: (data: Data) => ReactNode;
}

/** Shows the data of a query; before it arrives, a loading state or the error. Data stays visible while it is refreshed. */
export function Loaded<Data>({ query, what, missing, children }: LoadedProps<Data>) {
  const { data, isPending, isError, error, isFetching, refetch } = query;
  if (missing !== undefined && isMissing(error)) return missing;
  return (
    <>
      {isPending ? <Loading what={what} /> : null}
      {isError ? (
        <LoadError
          error={error}
          busy={isFetching}
          hasData={data !== undefined}
          retry={() => void refetch()}
        />
      ) : null}
      {data === undefined ? null : children(data)}
    </>
  );
}
