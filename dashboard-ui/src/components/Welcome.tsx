import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api } from "../api/client.ts";
import markStyles from "./Mark.module.css";
import { Mark } from "./Mark.tsx";
import { Title } from "./Title.tsx";
import styles from "./Welcome.module.css";

/** The card of the pages for users who are not signed in. */
export function Welcome({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const info = useQuery(api.service.info.queryOptions(undefined, { staleTime: Number.POSITIVE_INFINITY }));
  return (
    <main className={styles.welcome}>
      <div className={styles.welcomeCard}>
        <p className={markStyles.brand}>
          <Mark />
          <span>{info.data?.serviceName ?? ""}</span>
        </p>
        <Title>{title}</Title>
        {children}
      </div>
    </main>
  );
}
