import { useContext, useEffect } from "react";
import { ServiceName } from "./service-name.ts";

/** A page's heading, which is also the title of the browser tab. */
export function Title({ children }: { readonly children: string }) {
  const serviceName = useContext(ServiceName);

  useEffect(() => {
    document.title = serviceName === undefined ? children : `${children} · ${serviceName}`;
  }, [children, serviceName]);

  return (
    <h1>
      {/* A name of an account or a key has the direction of its own letters. */}
      <bdi>{children}</bdi>
    </h1>
  );
}
