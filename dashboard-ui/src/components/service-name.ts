import { createContext } from "react";

/** The operator's own name for the service; undefined until it is known. */
export const ServiceName = createContext<string | undefined>(undefined);
