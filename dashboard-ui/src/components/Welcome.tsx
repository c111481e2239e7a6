import { type ReactNode, useContext } from "react";
import markStyles from "./Mark.module.css";
import { Mark } from "./Mark.tsx";
import { ServiceName } from "./service-name.ts";
import { Title } from "./Title.tsx";
import styles from "./Welcome.module.css";

/** The card of the pages for users who are not signed in. */
export function Welcome({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const serviceName = useContext(ServiceName);
  return (
    <main className={styles.welcome}>
      <div className={styles.welcomeCard}>
        <p className={markStyles.brand}>
          <Mark />
          <span>{serviceName ?? ""}</span>
        </p>
        <Title>{title}</Title>
        {children}
      </div>
    </main>
  );
}
