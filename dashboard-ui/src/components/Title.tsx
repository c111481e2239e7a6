import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { api } from "../api/client.ts";

/** A page's heading, which is also the title of the browser tab. */
export function Title({ children }: { readonly children: string }) {
  const info = useQuery(api.service.info.queryOptions(undefined, { staleTime: Number.POSITIVE_INFINITY }));
  const serviceName = info.data?.serviceName;

  useEffect(() => {
    document.title = serviceName === undefined ? children : `${children} · ${serviceName}`;
  }, [children, serviceName]);

  return <h1>{children}</h1>;
}
